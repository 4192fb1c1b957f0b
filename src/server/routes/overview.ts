import type { ToolRegistry } from "../../engine/registry.ts";
import { type JournalOverview, OVERVIEW_RANGES } from "../../journal/overview/overview.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { Client } from "../access/client.ts";
import type { App } from "../http/exchange.ts";
import { badRequest } from "../http/refusals.ts";
import { shownName } from "../journal-views.ts";
import type { SessionService } from "../service.ts";
import { orUnavailable, Reads, visibleTo } from "./journal.ts";

/** Shows what happened and how things are, in numbers. */
export function overviewRoutes(app: App, { inspected, sessions }: SessionService): void {
  const reads = new Reads();
  const { history, redaction } = inspected;

  app.get("/v1/overview", async ({ env, req, json }) => {
    const { client } = env;
    const asked = req.query()["range"] ?? "day";
    const range = OVERVIEW_RANGES.find((each) => each === asked);
    if (range === undefined) throw badRequest(`range must be one of ${OVERVIEW_RANGES.join(", ")}`);
    const query = { range, now: Date.now(), isVisible: visibleTo(client) };
    const recorded = history && (await reads.run(env, () => orUnavailable(history.overview(query))));
    return json({
      sessions: await sessionCounts(sessions, client),
      mcpServers: mcpServers(inspected.registry, redaction),
      ...(recorded && { recorded: recordedView(recorded, redaction) }),
    });
  });
}

/** What a client may know about the sessions that are open, in numbers. */
async function sessionCounts(sessions: Sessions, client: Client): Promise<object> {
  const open = (await sessions.findAll()).filter((session) => client.inspects(session));
  const waiting = sessions
    .openInquiries()
    .filter(({ principal }) =>
      client.inspects({ principal: principal === undefined ? undefined : { id: principal } }),
    );
  return {
    open: open.length,
    running: open.reduce((sum, { lanes }) => sum + lanes.running, 0),
    waiting: waiting.length,
  };
}

/** The MCP servers of the tools, in the order of their names, and whether they are connected now. */
function mcpServers(registry: ToolRegistry, redaction: Redaction): readonly object[] {
  const servers = new Map<string, { isConnected: boolean; tools: number }>();
  for (const toolName of registry.names) {
    const { remote } = registry.find(toolName)?.tool ?? {};
    if (remote === undefined || !("mcp" in remote)) continue;
    const name = shownName(String(remote.mcp.toJSON()["server"]), redaction);
    const { tools = 0 } = servers.get(name) ?? {};
    servers.set(name, { isConnected: remote.mcp.isConnected, tools: tools + 1 });
  }
  return [...servers]
    .map(([name, server]) => ({ name, ...server }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** What a journal has of a range of time, with names as they are shown. */
function recordedView(overview: JournalOverview, redaction: Redaction): object {
  const named = <Item extends { readonly name?: string }>(items: readonly Item[]): readonly Item[] =>
    items.map((item) =>
      item.name === undefined ? item : { ...item, name: shownName(item.name, redaction) },
    );
  const { tools, rules, sandboxes, approvers, limits, ...numbers } = overview;
  return {
    ...numbers,
    tools: named(tools),
    rules: named(rules),
    sandboxes: named(sandboxes),
    approvers: named(approvers),
    limits: named(limits),
  };
}
