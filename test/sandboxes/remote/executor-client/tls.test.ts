import { afterAll, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import { HostPolicy } from "../../../../src/policy/policy.ts";
import { openSandboxes, type SandboxesOptions } from "../../../../src/sandboxes/open-sandboxes.ts";
import { Authority } from "../../../certificates.ts";
import { CountingTool, startExecutor } from "../../../executor/harness.ts";
import { callOn } from "./setting.ts";

const authority = new Authority();
afterAll(() => authority[Symbol.dispose]());
const server = authority.issue();
const agent = authority.issue({ subject: "/CN=agent", names: ["DNS:agent"] });
const { cert: ca } = authority;

async function call(executor: string, remote: SandboxesOptions["remote"]): ReturnType<typeof callOn> {
  const sandboxes = await openSandboxes({ ...(remote && { remote }) });
  onTestFinished(() => sandboxes.close());
  return callOn(executor, "count", sandboxes, { input: { a: 1 } });
}

test("calls an executor with the certificate of this process, and trusts the given authority alone", async () => {
  const principals: unknown[] = [];
  const { tool } = new CountingTool();
  const host = (_: unknown, { principal }: { readonly principal?: unknown }): null => {
    principals.push(principal);
    return null;
  };
  const executor = await startExecutor([{ ...tool, host } as typeof tool], {
    tls: { ...server, clientCa: ca },
    certificates: [{ id: "agent", certificate: "DNS:agent" }],
  });
  const url = `https://${executor.address}`;
  expect(await call(url, { ca, ...agent })).toMatchObject({ success: true });
  expect(principals).toEqual([{ id: "agent", kind: "service" }]);
  // Nothing ran, as nothing was sent.
  const untrusted = await call(url, agent);
  expect(untrusted).toMatchObject({ error: { code: "sandbox_unavailable", effect: "none" } });
  // In TLS 1.3, a client may send its request before it learns that it needed a certificate.
  for (const remote of [{ ca }, { ca, token: "0123456789abcdef" }])
    expect(await call(url, remote)).toMatchObject({ success: false });
  expect(principals).toHaveLength(1);
});

test("framed connections end when the authorities of certificates are replaced", async () => {
  const counting = new CountingTool();
  const certificates = [{ id: "agent", certificate: "DNS:agent" }];
  const executor = await startExecutor([counting.tool], {
    frames: true,
    certificates,
    token: "0123456789abcdef",
    tls: { ...server, clientCa: ca },
  });
  // The certificate lets the client connect; its credential is the token, which stays.
  const remote = { ca, ...agent, token: "0123456789abcdef", frames: true };
  const sandboxes = await openSandboxes({ remote });
  onTestFinished(() => sandboxes.close());
  const url = `https://${executor.address}`;
  const call = (): ReturnType<typeof callOn> => callOn(url, "count", sandboxes, { input: { a: 1 } });
  for (let index = 0; index < 5; index++) expect(await call()).toMatchObject({ success: true });
  const before = counting.calls;
  using stranger = new Authority();
  executor.reload({
    registry: new ToolRegistry().register(counting.tool),
    policy: new HostPolicy(),
    certificates,
    token: "0123456789abcdef",
    tls: { ...server, clientCa: stranger.cert },
  });
  for (let index = 0; index < 3; index++) expect(await call()).toMatchObject({ success: false });
  expect(counting.calls).toBe(before);
});

test.each<[string, SandboxesOptions["remote"] & object, RegExp]>([
  ["a certificate without its key", { cert: agent.cert }, /cert and remote\.key must be given together/],
  ["a key without its certificate", { key: agent.key }, /cert and remote\.key must be given together/],
  ["the key of another certificate", { ...agent, key: server.key }, /not the key of remote\.cert/],
  ["a certificate that is none", { ...agent, cert: "x" }, /remote\.cert must have a certificate/],
  ["a key that is none", { ...agent, key: "x" }, /remote\.key must be a private key/],
  ["an authority that is none", { ca: "" }, /remote\.ca must have a certificate/],
])("refuses %s", async (_, remote, message) => {
  await expect(openSandboxes({ remote })).rejects.toThrow(message);
});
