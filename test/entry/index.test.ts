import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

const INDEX = resolve(import.meta.dirname, "../../src/entry/index.ts");

/** The packages that a fresh process has loaded after it ran some code. */
async function packagesLoadedBy(code: string): Promise<readonly string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({
      load(url, context, next) {
        const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
        if (name !== undefined) packages.add(name);
        return next(url, context);
      },
    });
    const sandgate = await import(${JSON.stringify(INDEX)});
    ${code}
    console.log(JSON.stringify([...packages]));`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout);
}

const HEAVY = ["ajv", "ajv-formats", "re2js", "yaml", "undici", "piscina"];

test("importing the package loads no validator, parser, HTTP client, pool or engine", async () => {
  const loaded = await packagesLoadedBy("");
  expect(loaded.filter((name) => HEAVY.includes(name) || /quickjs|jco/.test(name))).toEqual([]);
});

test("a program whose JavaScript tools use no network loads no HTTP client", async () => {
  const loaded = await packagesLoadedBy(`
    const registry = new sandgate.ToolRegistry().register({
      name: "echo", description: "", inputSchema: {}, quickjs: { source: "export default (input) => input" },
    });
    const sandboxes = await sandgate.openSandboxes({ workers: { threads: 1 } });
    const policy = new sandgate.RulePolicy({
      rules: [{ tools: ["*"], effect: "allow", sandboxes: ["quickjs"] }],
    });
    const context = { registry, policy, sandboxes, sessionId: "session" };
    const call = { id: "1", name: "echo", arguments: "{}" };
    const execution = await new sandgate.ToolDispatchEngine().dispatch(call, context);
    if (!execution.success) throw new Error(execution.error.message);
    await sandboxes.close();`);
  expect(loaded).toContain("ajv");
  expect(loaded).not.toContain("undici");
});

test("a program that runs functions in its own process loads the validator, and nothing more", async () => {
  const loaded = await packagesLoadedBy(`
    const registry = new sandgate.ToolRegistry().register({
      name: "echo", description: "", inputSchema: { type: "object" }, host: (input) => input,
    });
    const sandboxes = await sandgate.openSandboxes();
    const policy = new sandgate.RulePolicy({
      rules: [{ tools: ["*"], effect: "allow", sandboxes: ["host"] }],
    });
    const context = { registry, policy, sandboxes, sessionId: "session" };
    const call = { id: "1", name: "echo", arguments: "{}" };
    const execution = await new sandgate.ToolDispatchEngine().dispatch(call, context);
    if (!execution.success) throw new Error(execution.error.message);
    await sandboxes.close();`);
  const heavy = loaded.filter((name) => HEAVY.includes(name) || /quickjs|jco/.test(name));
  expect(heavy.sort()).toEqual(["ajv", "ajv-formats"]);
});

test("sandgate exports exactly these names", async () => {
  expect(await exportedNames("index")).toEqual({
    values: [
      "BoundGrant",
      "CanonicalJson",
      "ConfigError",
      "DefaultPolicy",
      "DuplicateToolError",
      "ERROR_CODES",
      "EventStream",
      "FileFailure",
      "HostPolicy",
      "KeyValueFullError",
      "MemoryKeyValue",
      "Redaction",
      "RulePolicy",
      "SandgateError",
      "SchemaError",
      "ShadowPolicy",
      "ToolDispatchEngine",
      "ToolFailure",
      "ToolNotFoundError",
      "ToolPreparationError",
      "ToolRegistrationError",
      "ToolRegistry",
      "WorkspaceEscapeError",
      "allow",
      "ask",
      "callTool",
      "checkPrincipal",
      "defineTool",
      "deny",
      "failure",
      "loadPolicyFile",
      "normalizeSchema",
      "openPolicyFile",
      "openSandboxes",
      "proveInvariants",
      "strictest",
      "success",
      "toToolDefinition",
      "toToolResult",
    ],
    types: [
      "AfterCondition",
      "AgentHooks",
      "AllowDecision",
      "AllowOptions",
      "AllowRule",
      "AllowedUse",
      "AlwaysInvariant",
      "AnsweredQuestion",
      "ArgumentProblem",
      "ArgumentReference",
      "ArgumentRules",
      "Ask",
      "AskDecision",
      "AskOptions",
      "AskRule",
      "AskUser",
      "AssistantMessage",
      "BoundTo",
      "CallAsked",
      "CallEffect",
      "CallHistory",
      "CallJournal",
      "CallLedger",
      "CallRecord",
      "CallSelection",
      "CallTool",
      "CallToolContext",
      "CallToolOptions",
      "CallTrace",
      "CallTracer",
      "CallVerdict",
      "Capabilities",
      "CapabilityName",
      "CapabilitySelection",
      "ClassTimeouts",
      "ConfigProblem",
      "Confirm",
      "Confirmation",
      "ConfirmationAnswer",
      "ConfirmationRequest",
      "ConfirmationRequested",
      "ConfirmationResolved",
      "ContentBlock",
      "ContentOutput",
      "CountCondition",
      "DecidedRecord",
      "DecisionBasis",
      "DecisionChange",
      "DefaultPolicyOptions",
      "DefaultRule",
      "DefaultUse",
      "DefinitionPins",
      "DeniedRecord",
      "DenyDecision",
      "DenyOptions",
      "DenyRule",
      "Digested",
      "DirectoryGrant",
      "DispatchAllOptions",
      "DispatchContext",
      "DispatchEvent",
      "DispatchEventBase",
      "DispatchEventBody",
      "DispatchEventListener",
      "DispatchTurnOptions",
      "DispatchableTurn",
      "DispatchedRecord",
      "Display",
      "EgressOptions",
      "EndedRecord",
      "EndpointImplementation",
      "ErrorCode",
      "ExecutionGrant",
      "ExecutionReceipt",
      "ExecutorCredentials",
      "ExecutorImplementation",
      "ExplainedRule",
      "FailedOutcome",
      "FieldSource",
      "FileEntry",
      "FileGrant",
      "FileKind",
      "FileStat",
      "FileTemplate",
      "FreeformToolDeclaration",
      "FsGrant",
      "GrantOptions",
      "GrantOrigins",
      "GrantedFiles",
      "GrantedTask",
      "GrantedWork",
      "HeldFiles",
      "HistoryCondition",
      "HistoryWindow",
      "HoldChanges",
      "Holding",
      "HostContext",
      "HostFactory",
      "HostFunction",
      "HostImplementation",
      "HostInstance",
      "HostLogger",
      "HostModule",
      "HostModuleContext",
      "HostModuleFunction",
      "HttpImplementation",
      "HttpResponseRules",
      "ImageBlock",
      "InferInput",
      "InputValidator",
      "Invariant",
      "Isolation",
      "JsonObject",
      "JsonValue",
      "KeptShell",
      "KeyValueChange",
      "KeyValueStore",
      "KeyValueStores",
      "LedgerQuery",
      "LedgerTally",
      "LimitName",
      "LinkOrigins",
      "LoadedPolicy",
      "LogLevel",
      "LookupField",
      "MemoryKeyValueOptions",
      "MicrovmImplementation",
      "MicrovmOptions",
      "NearMiss",
      "NestedCall",
      "NestedCallOptions",
      "NestedResult",
      "NetGrant",
      "NeverInvariant",
      "NormalizeSchemaOptions",
      "NormalizedSchema",
      "NumberRange",
      "OneShotThenable",
      "OriginTemplate",
      "PathArgument",
      "PauseWallTime",
      "PolicyDecision",
      "PolicyDifference",
      "PolicyExplanation",
      "PolicyFile",
      "PolicyFileOptions",
      "PolicyRequest",
      "PolicyRule",
      "PolicySubject",
      "PolicyTool",
      "Principal",
      "ProcessImplementation",
      "ProcessSandboxOptions",
      "ProgramCompletion",
      "ProgramContext",
      "Proof",
      "ProofFailure",
      "Question",
      "QuestionAnswer",
      "QuestionAsked",
      "QuestionReply",
      "QuestionRequest",
      "QuickJsFile",
      "QuickJsImplementation",
      "QuickJsSource",
      "RecordedCall",
      "RedactionOptions",
      "RemoteImplementation",
      "RequiredIsolation",
      "ResolveHost",
      "ResourceLimits",
      "ResourceUse",
      "ResultBudget",
      "RuleCapabilities",
      "RuleCondition",
      "RuleConditions",
      "RuleExample",
      "RuleExamples",
      "RuleMatch",
      "RulePolicyOptions",
      "RuntimePolicy",
      "Sandbox",
      "SandboxMode",
      "SandboxOutcome",
      "SandboxRouter",
      "SandboxStats",
      "SandboxTask",
      "SandboxedTool",
      "Sandboxes",
      "SandboxesOptions",
      "SandgateErrorCode",
      "SchemaChange",
      "SchemaDialect",
      "SchemaProblem",
      "SecretSource",
      "SessionCall",
      "SessionInfo",
      "SideEffects",
      "StandardInputSchema",
      "StandardIssue",
      "StandardResult",
      "StartVerdict",
      "SumCondition",
      "TaskEnd",
      "TaskObserver",
      "TaskRefusalReason",
      "TaskTrace",
      "TextBlock",
      "Tool",
      "ToolCall",
      "ToolDeclaration",
      "ToolDefinition",
      "ToolError",
      "ToolExecution",
      "ToolFailureCode",
      "ToolFailureOptions",
      "ToolField",
      "ToolImplementations",
      "ToolMessage",
      "ToolRegistryOptions",
      "ToolResult",
      "ToolStart",
      "ToolTraits",
      "TraceHeaders",
      "TracedCall",
      "TracedDecision",
      "TracedEnd",
      "TrackedFields",
      "UntrustedResult",
      "UpperBound",
      "UrlArgument",
      "ValidatedArguments",
      "ValueProvenance",
      "ValueSource",
      "WasmImplementation",
      "WebImplementation",
      "Witness",
      "WorkerPoolOptions",
      "WorkspaceFiles",
      "WorkspaceTemplate",
    ],
  });
});
