import type { ComponentChildren, JSX } from "preact";
import type { OverviewNumbers, RecordedOverview } from "../../shapes/journal.ts";
import { hashOf, type RouteQuery } from "../page/route.ts";
import { Badge, Titles } from "../parts/badges.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { duration } from "../parts/format.ts";

/** What {@link NumberLists} shows. */
export interface NumberListsProps {
  readonly recorded: RecordedOverview;
  /** Adds the range to a query of calls. */
  readonly inRange: (query: RouteQuery) => RouteQuery;
}

/** The highest numbers by tool, rule, sandbox, person and limit. */
export function NumberLists({ recorded, inRange }: NumberListsProps): JSX.Element {
  const { tools, rules, sandboxes, approvers, limits } = recorded;
  return (
    <>
      <List title="Top tools" columns={["Tool", "Calls", "Denied", "Failed"]} isEmpty={tools.length === 0}>
        {tools.map(({ name, calls, denied, failed }) => (
          <Row key={name} name={name}>
            <Cell of={calls} query={name && inRange({ tool: name })} />
            <Cell of={denied} query={name && inRange({ tool: name, outcome: "denied" })} />
            <Cell of={failed} query={name && inRange({ tool: name, outcome: "failed" })} />
          </Row>
        ))}
      </List>
      <List title="Denials by rule" columns={["Rule", "Denied"]} isEmpty={rules.length === 0}>
        {rules.map(({ name, denied }) => (
          <Row key={name} name={name} empty="no rule">
            <Cell
              of={denied}
              query={
                name === undefined
                  ? undefined
                  : inRange({
                      code: "permission_denied",
                      ...(name === "" ? { ruled: "false" } : { rule: name }),
                    })
              }
            />
          </Row>
        ))}
      </List>
      <List
        title="Durations by sandbox"
        columns={["Sandbox", "Calls", "p50", "p95"]}
        isEmpty={sandboxes.length === 0}
      >
        {sandboxes.map(({ name, calls, p50Ms, p95Ms }) => (
          <Row key={name} name={name}>
            <Cell of={calls} query={name && inRange({ sandbox: name })} />
            <td class="number">{duration(p50Ms)}</td>
            <td class="number">{duration(p95Ms)}</td>
          </Row>
        ))}
      </List>
      <List
        title="Answers"
        columns={["By", "Allowed", "Within 2 s", "Denied", "p50", "p95"]}
        isEmpty={approvers.length === 0}
      >
        {approvers.map(({ name, allowed, quick, denied, p50Ms, p95Ms }) => (
          <Row key={name} name={name}>
            <Cell of={allowed} query={name && inRange({ answeredBy: name, answer: "allow" })} />
            <Cell
              of={quick}
              text={allowed === 0 ? "" : `${Math.round((quick / allowed) * 100)} %`}
              query={name && inRange({ answeredBy: name, answer: "quick" })}
            />
            <Cell of={denied} query={name && inRange({ answeredBy: name, answer: "deny" })} />
            <td class="number">{duration(p50Ms)}</td>
            <td class="number">{duration(p95Ms)}</td>
          </Row>
        ))}
      </List>
      <List title="Limits reached" columns={["Limit", "Calls"]} isEmpty={limits.length === 0}>
        {limits.map(({ name, calls }) => (
          <Row key={name} name={name}>
            <Cell of={calls} query={name && inRange({ reached: name })} />
          </Row>
        ))}
      </List>
    </>
  );
}

/** The MCP servers, and whether they are connected. */
export function ServerList({ servers }: { readonly servers: OverviewNumbers["mcpServers"] }): JSX.Element {
  return (
    <List title="MCP servers" columns={["Server", "State", "Calls", "Tools"]} isEmpty={servers.length === 0}>
      {servers.map(({ name, isConnected, isPaused, running, waiting, tools }) => (
        <Row key={name} name={name}>
          <td>
            <Badge word={isPaused ? "paused" : isConnected ? "connected" : "not connected"} />
          </td>
          <td class="number">{waiting > 0 ? `${running} + ${waiting} waiting` : running}</td>
          <td class="number">
            <a href={hashOf("tools")}>{tools}</a>
          </td>
        </Row>
      ))}
    </List>
  );
}

interface ListProps {
  readonly title: string;
  readonly columns: readonly string[];
  readonly isEmpty: boolean;
  readonly children: ComponentChildren;
}

function List({ title, columns, isEmpty, children }: ListProps): JSX.Element {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {isEmpty ? (
        <p class="empty">None</p>
      ) : (
        <table>
          <Titles of={columns} />
          <tbody>{children}</tbody>
        </table>
      )}
    </section>
  );
}

/** A row that is named by foreign text, or by a word of the page. */
function Row({
  name,
  empty = "no name",
  children,
}: {
  readonly name: string | undefined;
  /** Stands for an empty name. */
  readonly empty?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <tr>
      <th scope="row">
        {name === undefined ? "others" : name.trim() === "" ? empty : <Foreign text={name} />}
      </th>
      {children}
    </tr>
  );
}

/** A number, which leads to its calls. */
function Cell({
  of,
  query,
  text = of.toLocaleString("en-US"),
}: {
  readonly of: number;
  /** The query that finds the calls; empty or absent if no query does. */
  readonly query: RouteQuery | "" | undefined;
  readonly text?: string;
}): JSX.Element {
  const leads = query !== undefined && query !== "" && of > 0;
  return <td class="number">{leads ? <a href={hashOf("history", "", query)}>{text}</a> : text}</td>;
}
