import { expect, test } from "vitest";
import * as agents from "../../src/entry/agents.ts";
import * as cedar from "../../src/entry/cedar.ts";
import * as executor from "../../src/entry/executor.ts";
import * as main from "../../src/entry/index.ts";
import * as journal from "../../src/entry/journal.ts";
import * as mcp from "../../src/entry/mcp.ts";
import * as telemetry from "../../src/entry/opentelemetry.ts";
import * as postgres from "../../src/entry/postgres.ts";
import * as programs from "../../src/entry/programs.ts";
import * as protocols from "../../src/entry/protocols.ts";
import * as restate from "../../src/entry/restate.ts";
import * as server from "../../src/entry/server.ts";
import * as sessions from "../../src/entry/sessions.ts";
import * as supervisor from "../../src/entry/supervisor.ts";
import * as toolsets from "../../src/entry/toolsets.ts";

const registry = new main.ToolRegistry();
const sandboxes = await main.openSandboxes();
const context = { registry, sandboxes, policy: new main.DefaultPolicy(), sessionId: "s" };
const served = { registry, sandboxes, policy: new main.DefaultPolicy(), listen: "127.0.0.1:0" };
const tool = { name: "t", description: "", inputSchema: {}, host: () => 1 } as unknown as main.Tool;
const engine = new main.ToolDispatchEngine();
const token = "0123456789abcdef";
const stdio = { command: "node" };
const kernel = new supervisor.CapabilityKernel();

/** Opens sessions, and one of them. */
async function session(): Promise<sessions.Session> {
  const { sessionId: _, ...options } = context;
  return await (await sessions.openSessions(options)).open();
}

/** Each passes the options as they are, with one name that is misspelt, and the name that is meant. */
const CALLS: Readonly<Record<string, readonly [meant: string, (wrong: never) => unknown, misspelt: object]>> =
  {
    openSandboxes: ["workers", (wrong) => main.openSandboxes(wrong), { wrokers: {} }],
    "workers of openSandboxes": [
      "threads",
      (wrong) => main.openSandboxes({ workers: wrong }),
      { thraeds: 1 },
    ],
    "process of openSandboxes": [
      "isolation",
      (wrong) => main.openSandboxes({ process: wrong }),
      { isolatoin: 1 },
    ],
    "microvm of openSandboxes": ["kernel", (wrong) => main.openSandboxes({ microvm: wrong }), { kernal: "" }],
    "egress of openSandboxes": [
      "headerBytes",
      (wrong) => main.openSandboxes({ egress: wrong }),
      { headerByte: 1 },
    ],
    "remote of openSandboxes": ["token", (wrong) => main.openSandboxes({ remote: wrong }), { tokne: token }],
    ToolRegistry: [
      "requireSideEffects",
      (wrong) => new main.ToolRegistry(wrong),
      { requireSideEffect: true },
    ],
    callTool: ["context", (wrong) => main.callTool(tool, {}, wrong), { contxt: {} }],
    "context of callTool": [
      "workspace",
      (wrong) => main.callTool(tool, {}, { context: wrong }),
      { workspce: "/" },
    ],
    DefaultPolicy: ["default", (wrong) => new main.DefaultPolicy(wrong), { defualt: { allowed: true } }],
    "a rule of DefaultPolicy": [
      "sandbox",
      (wrong) => new main.DefaultPolicy({ default: wrong }),
      { allowed: true, sandbx: "wasm" },
    ],
    Redaction: ["results", (wrong) => new main.Redaction(wrong), { result: true }],
    MemoryKeyValue: ["maxKeys", (wrong) => new main.MemoryKeyValue(wrong), { maxKey: 1 }],
    normalizeSchema: ["dialect", (wrong) => main.normalizeSchema({}, wrong), { dialekt: "json" }],
    openPolicyFile: ["watch", (wrong) => main.openPolicyFile("/none", wrong), { wacth: true }],
    dispatchAll: ["concurrency", (wrong) => engine.dispatchAll([], context, wrong), { concurency: 1 }],
    dispatchTurn: ["cutOff", (wrong) => engine.dispatchTurn({ calls: [] }, context, wrong), { cutof: "run" }],
    agentTools: [
      "timeoutMs",
      (wrong) => agents.agentTools(wrong),
      { sessions: () => {}, runAgent: () => {}, timeutMs: 1 },
    ],
    openCedarPolicy: ["policies", (wrong) => cedar.openCedarPolicy(wrong), { policys: "" }],
    startExecutor: ["token", (wrong) => executor.startExecutor(wrong), { ...served, tokne: token }],
    "limits of startExecutor": [
      "inFlight",
      (wrong) => executor.startExecutor({ ...served, limits: wrong }),
      { inFligth: 1 },
    ],
    "tls of startExecutor": [
      "clientCa",
      (wrong) => executor.startExecutor({ ...served, tls: wrong }),
      { clintCa: "" },
    ],
    openJournal: ["sync", (wrong) => journal.openJournal(wrong), { directory: "/none", snyc: "none" }],
    verifyJournal: ["keys", (wrong) => journal.verifyJournal(wrong), { directory: "/none", kyes: [] }],
    verifyJournals: ["keys", (wrong) => journal.verifyJournals(wrong), { directories: [], kyes: [] }],
    archiveJournal: [
      "before",
      (wrong) => journal.archiveJournal(wrong),
      { directory: "/none", to: "/none", befor: 1 },
    ],
    diffPolicies: ["after", (wrong) => journal.diffPolicies(wrong), { afetr: {} }],
    openMcp: ["classes", (wrong) => mcp.openMcp(wrong), { servers: {}, registry, sandboxes, clases: {} }],
    "a server of openMcp": [
      "limits",
      (wrong) => mcp.openMcp({ servers: { a: wrong }, registry, sandboxes }),
      { ...stdio, limit: {} },
    ],
    openMcpServer: ["confirm", (wrong) => mcp.openMcpServer(wrong), { comfirm: "none" }],
    callTracer: ["recordResults", (wrong) => telemetry.callTracer(wrong), { recordResult: true }],
    instrument: ["redaction", (wrong) => telemetry.instrument(engine, wrong), { redactoin: {} }],
    CodeExecutor: ["policy", (wrong) => new programs.CodeExecutor(wrong), { sandboxes, polici: {} }],
    describe: ["style", (wrong) => programs.describe(registry, wrong), { styel: "names" }],
    openSuspensions: ["afterMs", (wrong) => programs.openSuspensions(wrong), { keys: [], aftrMs: 1 }],
    registerPrograms: [
      "typeCheck",
      (wrong) => programs.registerPrograms(registry, wrong),
      { typecheck: true },
    ],
    toAiSdkTool: ["prefix", (wrong) => programs.toAiSdkTool(context, wrong), { prefx: "" }],
    aiSdkToolSet: ["strict", (wrong) => protocols.aiSdkToolSet(context, wrong), { stict: true }],
    agentsToolSet: ["strict", (wrong) => protocols.agentsToolSet(context, wrong), { stict: true }],
    toTools: ["strict", (wrong) => protocols.openAiChatProtocol(registry).toTools(wrong), { stict: true }],
    toResults: [
      "aborted",
      (wrong) => protocols.openAiChatProtocol(registry).toResults([], [], wrong),
      { abroted: "omit" },
    ],
    openRestate: [
      "prefix",
      (wrong) => restate.openRestate(wrong),
      { ingress: "http://127.0.0.1:1", prefx: "" },
    ],
    openPostgres: [
      "schema",
      (wrong) => postgres.openPostgres(wrong),
      { url: "postgres://127.0.0.1:1/x", shema: "a" },
    ],
    Ingress: ["retryMs", (wrong) => new restate.Ingress(wrong), { urls: ["http://127.0.0.1:1"], retyMs: 1 }],
    startServer: [
      "credentials",
      (wrong) => server.startServer(wrong),
      { ...served, sessions: {}, credentails: [] },
    ],
    "sessions of startServer": [
      "workspaces",
      (wrong) => server.startServer({ ...served, sessions: wrong }),
      { workspace: [] },
    ],
    "a credential of startServer": [
      "approves",
      (wrong) => server.startServer({ ...served, sessions: {}, credentials: [wrong] }),
      { id: "a", token, roles: ["approver"], aproves: ["b"] },
    ],
    "mcp of startServer": [
      "confirm",
      (wrong) => server.startServer({ ...served, sessions: {}, executor: true, mcp: wrong }),
      { comfirm: "none" },
    ],
    openSessions: ["redaction", (wrong) => sessions.openSessions(wrong), { ...context, redactoin: 1 }],
    "confirmations of openSessions": [
      "timeoutMs",
      async (wrong) => {
        const { sessionId: _, ...options } = context;
        return await sessions.openSessions({ ...options, confirmations: wrong });
      },
      { timeoutMS_: 1 },
    ],
    "Session.turn": ["unattended", async (wrong) => (await session()).turn(wrong), { unatended: true }],
    "Turn.dispatchAll": [
      "messageId",
      async (wrong) => await (await session()).turn().dispatchAll([], wrong),
      { mesageId: "m" },
    ],
    "Session.answer": [
      "approval",
      async (wrong) => await (await session()).answer("id", wrong),
      { decision: "always", digest: "", by: "Ada", aproval: {} },
    ],
    "Session.changes.acceptAll": [
      "digest",
      async (wrong) => await (await session()).changes.acceptAll(wrong),
      { digset: "d" },
    ],
    openSupervisor: [
      "policy",
      (wrong) => supervisor.openSupervisor(wrong),
      { kernel, sandboxes, polici: {} },
    ],
    "Supervisor.start": [
      "confinement",
      (wrong) => supervisor.openSupervisor({ kernel, sandboxes }).start(wrong),
      { command: "true", confinment: "process" },
    ],
    registerBasicTools: [
      "replace",
      (wrong) => toolsets.registerBasicTools(registry, wrong),
      { replac: true },
    ],
    registerToolset: ["idleMs", (wrong) => toolsets.registerToolset(registry, "shell", wrong), { idelMs: 1 }],
  };

test.each(
  Object.entries(CALLS),
)("%s refuses a misspelt option, and names the one that is meant", async (_name, [meant, call, options]) => {
  await expect(async () => await call(options as never)).rejects.toThrow(
    expect.objectContaining({
      name: "TypeError",
      message: expect.stringContaining(`did you mean '${meant}'?`),
    }),
  );
});
