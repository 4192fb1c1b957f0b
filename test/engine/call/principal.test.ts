import { describe, expect, test } from "vitest";
import type { ToolStart } from "../../../src/engine/call/context.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow, deny, type PolicyRequest } from "../../../src/policy/policy.ts";
import type { Principal } from "../../../src/policy/principal.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

const ADA: Principal = { id: "ada", kind: "user", roles: ["admin"] };

describe("The principal of a context", () => {
  test("reaches the policy, the last hook, the tool and every event, frozen", async () => {
    const requests: PolicyRequest[] = [];
    const starts: ToolStart[] = [];
    const contexts: HostContext[] = [];
    const { events, seen } = recordEvents();
    const tool = hostTool((_input, context) => {
      contexts.push(context);
      context.logger.info("at work");
      context.onOutput("half");
    });
    const ctx = await contextFor([tool], {
      principal: ADA,
      events,
      policy: {
        check: (request) => {
          requests.push(request);
          return allow({ sandbox: "host" });
        },
      },
      hooks: { onToolStart: (start) => void starts.push(start) },
    });
    await dispatchTool(ctx);
    expect(seen.map(({ type }) => type)).toEqual([
      "tool.started",
      "tool.log",
      "tool.output",
      "tool.completed",
    ]);
    const told = [requests[0], starts[0], contexts[0], ...seen].map((each) => each?.principal);
    expect(told).toEqual(told.map(() => ADA));
    expect(told.every((each) => Object.isFrozen(each) && Object.isFrozen(each?.roles))).toBe(true);
  });

  test("is absent where the context names none", async () => {
    const { events, seen } = recordEvents();
    const requests: PolicyRequest[] = [];
    const ctx = await contextFor([hostTool((_input, context) => String(context.principal))], {
      events,
      policy: {
        check: (request) => {
          requests.push(request);
          return allow({ sandbox: "host" });
        },
      },
    });
    expect((await dispatchTool(ctx)).output).toBe("undefined");
    expect(requests[0]?.principal).toBeUndefined();
    expect(seen.filter((each) => "principal" in each)).toEqual([]);
  });

  test("reaches a module in a worker thread", async () => {
    const module = new URL("../../fixtures/worker/principal.ts", import.meta.url);
    const tool = { name: "tool", description: "", inputSchema: {}, host: { module } };
    const ctx = await contextFor([tool], { principal: ADA });
    expect((await dispatchTool(ctx)).output).toEqual({ principal: ADA, isFrozen: true });
    await (ctx.sandboxes as unknown as AsyncDisposable)[Symbol.asyncDispose]();
  });

  test("that is not valid denies the call, and no hook, policy or tool is asked", async () => {
    const { events, seen } = recordEvents();
    let asked = 0;
    const ctx = await contextFor([hostTool(() => void asked++)], {
      principal: { id: "ada", kind: "root" } as never,
      events,
      hooks: { onToolCall: () => void asked++ },
      policy: {
        check: () => {
          asked++;
          return deny("no");
        },
      },
    });
    expect((await dispatchTool(ctx)).error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: the caller of tool 'tool' could not be identified",
      effect: "none",
    });
    expect(asked).toBe(0);
    expect(seen).toMatchObject([
      { type: "tool.failed", detail: "a principal's kind must be one of user, agent, service" },
    ]);
  });

  test("keeps what the call began with, even if the embedder changes it while the call runs", async () => {
    const principal = { id: "ada", kind: "user", attributes: { tenant: "a" } } as const;
    const tool = hostTool(async (_input, context) => {
      await Promise.resolve();
      return context.principal as unknown as JsonObject;
    });
    const ctx = await contextFor([tool], { principal });
    const running = dispatchTool(ctx);
    (principal.attributes as { tenant: string }).tenant = "b";
    expect((await running).output).toEqual({ id: "ada", kind: "user", attributes: { tenant: "a" } });
  });
});
