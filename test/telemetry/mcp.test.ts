import { expect, test } from "vitest";
import { callTracer } from "../../src/telemetry/call-tracer.ts";
import { hostTool } from "../engine/helpers.ts";
import { connectPair, PAIRS } from "../mcp/gateway/pairs.ts";
import { openSdk } from "./setting.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test.each(PAIRS)("a trace goes on from a client of %s through a proxy to a server of %s", async (...pair) => {
  const sdk = await openSdk();
  const echo = { ...hostTool((input) => input), sideEffects: "read" } as const;
  await using connected = await connectPair(pair, () => [echo], { tracer: callTracer(sdk.telemetry) });
  const { tools } = await connected.client.listTools();
  const name = tools.map((tool) => tool.name).find((each) => each.endsWith(echo.name)) ?? "";
  const call = async (traceparent: string) => {
    const given = { name, arguments: { a: 1 }, _meta: { traceparent, tracestate: "a=b" } };
    const result = await connected.client.callTool(given);
    expect({ isError: false, ...result }).toMatchObject({ isError: false, content: [{ type: "text" }] });
    return (await sdk.spans()).splice(0);
  };
  const [server, proxy] = await call(`00-${TRACE}-${SPAN}-01`);
  expect(proxy).toMatchObject({ name: `execute_tool ${name}`, traceId: TRACE, parentSpanId: SPAN });
  expect(server).toMatchObject({ traceId: TRACE, parentSpanId: proxy?.spanId });
  // What is no trace begins one.
  const [, other] = await call("00-zz");
  expect(other?.parentSpanId).toBeUndefined();
  expect(other?.traceId).not.toBe(TRACE);
});
