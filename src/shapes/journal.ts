import { ACCESS } from "../http/access.ts";
import {
  anyOf,
  boolean,
  constant,
  described,
  integer,
  list,
  number,
  object,
  oneOf,
  openObject,
  optional,
  record,
  string,
  type TypeOf,
} from "../json/shape.ts";
import { DECISION, PolicyDecision, ToolExecution } from "./calls.ts";
import { json, operations, PrincipalId, REFUSALS } from "./operation.ts";

/** Maximum number of recorded calls of a page. */
export const MAX_LISTED_RECORDS = 500;

export const JournalSummary = object({
  health: oneOf(["healthy", "unhealthy"], {
    description: "While the journal is `unhealthy`, it cannot write, and no call runs.",
  }),
  lost: integer({ description: "The number of records that could not be written." }),
  size: integer({ description: "In bytes." }),
  entries: integer(),
  lastAt: optional(integer({ description: "The time of the last record, in milliseconds since the epoch." })),
  checkpoints: oneOf(["signed", "none"]),
});
export type JournalSummary = TypeOf<typeof JournalSummary>;

export const RecordedCallState = oneOf(["denied", "ended", "open", "unknown"], {
  description:
    "`denied`: the call did not run. `open`: it has no end, since it still runs or its process crashed. " +
    "`unknown`: no end was found, but it may be too far behind the begin to be looked for.",
});
export type RecordedCallState = TypeOf<typeof RecordedCallState>;

export const RecordedCalls = object({
  calls: list(
    object({
      seq: integer({ description: "The number of the record of its begin or its denial." }),
      callId: string(),
      toolName: string(),
      sessionId: string(),
      principal: optional(PrincipalId),
      at: integer({ description: "Milliseconds since the epoch." }),
      state: RecordedCallState,
      decision: optional(string()),
      sideEffects: optional(string()),
      code: optional(string()),
      effect: optional(string()),
      durationMs: optional(integer({ description: "From the record of the begin to that of the end." })),
      argumentDigest: optional(string()),
    }),
    { maxItems: MAX_LISTED_RECORDS },
  ),
  next: optional(integer({ description: "The `before` of the next page. Absent on the last one." })),
});
export type RecordedCalls = TypeOf<typeof RecordedCalls>;
export type ListedCall = RecordedCalls["calls"][number];

export const ShownRecord = openObject(
  { seq: integer(), at: integer(), type: string() },
  { description: "A record without its arguments: see journal.md." },
);
export type ShownRecord = TypeOf<typeof ShownRecord>;

export const RecordedCall = object({
  state: RecordedCallState,
  begin: ShownRecord,
  end: optional(ShownRecord),
  arguments: optional(
    string({
      description:
        "Printable JSON text: of long arguments, the beginning and the end. Those that were sealed are " +
        "opened for admins only.",
    }),
  ),
});
export type RecordedCall = TypeOf<typeof RecordedCall>;

export const JournalVerification = object(
  {
    isIntact: boolean(),
    first: integer(),
    last: integer({ description: "The last record whose chain holds." }),
    tornBytes: optional(
      integer({ description: "The length of a half-written line at the end, which is not a contradiction." }),
    ),
    contradiction: optional(
      object({
        kind: string(),
        seq: integer(),
        through: optional(integer()),
        file: optional(string({ description: "The name of the file." })),
        message: string(),
      }),
    ),
    checkpoints: optional(
      object(
        { matching: integer(), covered: integer(), uncovered: integer() },
        { description: "Absent if the journal signs none." },
      ),
    ),
  },
  { description: "As of `verifyJournal`: see journal.md." },
);
export type JournalVerification = TypeOf<typeof JournalVerification>;

const COUNTS = {
  calls: integer(),
  denied: integer({ description: "The calls that were not allowed to run." }),
  failed: integer(),
  asked: integer({ description: "The calls about which a person was asked." }),
};

const NAME = optional(
  string({ description: "Absent for all others, beyond the most that are counted by name." }),
);

export const Overview = object({
  sessions: object(
    { open: integer(), running: integer(), waiting: integer() },
    { description: "The open sessions, their calls that run, and the confirmations that wait for a person." },
  ),
  mcpServers: list(
    object({
      name: string(),
      isConnected: boolean(),
      isPaused: boolean({
        description: "Whether it gets no calls for a while, since it did not answer several in a row.",
      }),
      running: integer({ description: "The calls that it runs." }),
      waiting: integer({ description: "The calls that wait until it runs fewer." }),
      tools: integer(),
    }),
    { description: "The MCP servers of the tools." },
  ),
  recorded: optional(
    object(
      {
        from: integer({ description: "The time of the first step, in milliseconds since the epoch." }),
        to: integer({ description: "The time of the last step." }),
        stepMs: integer(),
        isComplete: boolean({
          description: "Whether everything in the range was counted. If not, it is being read: ask again.",
        }),
        steps: list(object(COUNTS), { description: "The numbers of each step." }),
        total: object({
          ...COUNTS,
          sessions: integer({ description: "The sessions that made a first call." }),
        }),
        tools: list(
          object({
            name: NAME,
            calls: integer(),
            denied: integer(),
            failed: integer(),
          }),
          { description: "The tools with the most calls." },
        ),
        rules: list(
          object({
            name: optional(
              string({
                description:
                  "Empty if no rule matched. Absent for all others, beyond the most that are counted by name.",
              }),
            ),
            denied: integer(),
          }),
          { description: "The rules with the most denials." },
        ),
        sandboxes: list(
          object({
            name: NAME,
            calls: integer(),
            p50Ms: number(),
            p95Ms: number(),
          }),
          { description: "How long calls in each sandbox took, to 5 %." },
        ),
        approvers: list(
          object({
            name: NAME,
            allowed: integer(),
            denied: integer(),
            quick: integer({ description: "How many calls were allowed within 2 s of the request." }),
            p50Ms: optional(number()),
            p95Ms: optional(number()),
          }),
          { description: "What people answered, and how long after the confirmation was requested." },
        ),
        limits: list(
          object({
            name: NAME,
            calls: integer(),
          }),
          { description: "The limits that calls reached." },
        ),
      },
      { description: "What the journal has of the range." },
    ),
  ),
});
export type OverviewNumbers = TypeOf<typeof Overview>;
export type RecordedOverview = NonNullable<OverviewNumbers["recorded"]>;
export type Counts = RecordedOverview["steps"][number];

export const PolicyTrial = object({
  policy: string({ minLength: 1, maxLength: 1_048_576, description: "YAML." }),
  last: integer({ minimum: 1, maximum: 100_000, description: "The most calls, the latest ones." }),
});
export type PolicyTrial = TypeOf<typeof PolicyTrial>;

export const PolicyComparison = object({
  compared: integer({ description: "The number of calls on which both policies decided." }),
  changed: list(
    object({
      seq: integer(),
      toolName: string(),
      before: DECISION,
      after: DECISION,
      changes: list(string()),
      rules: list(string(), { description: "The rules that the other policy names." }),
    }),
    { description: "The first 500 calls on which they differ, the latest first." },
  ),
  counts: object({
    same: integer(),
    different: integer(),
    undecided: integer({ description: "Calls that failed before a policy decided." }),
    undecidable: record(integer(), { description: "Calls that cannot be decided again, by the reason." }),
  }),
  isCut: boolean({
    description: "Whether fewer calls were read than wanted. At most 64 MiB of the journal are read.",
  }),
});
export type PolicyComparison = TypeOf<typeof PolicyComparison>;

export const CallRepetition = object({
  dryRun: boolean({ description: "Whether the call is only decided on." }),
});
export type CallRepetition = TypeOf<typeof CallRepetition>;

export const RepeatedCall = object({
  dryRun: boolean(),
  toolChanged: boolean({ description: "Whether the tool is not the one that was called." }),
  principal: optional(object({ id: string() }, { description: "In whose name the call was decided on." })),
  decision: optional(described(PolicyDecision, "With `dryRun`. What the policy decides on the call.")),
  execution: optional(
    anyOf([ToolExecution, constant(null)], {
      description: "Without `dryRun`. The execution, or `null` if a hook aborted the call.",
    }),
  ),
});
export type RepeatedCall = TypeOf<typeof RepeatedCall>;

const READING_THE_JOURNAL = [REFUSALS.TooManyReads, REFUSALS.JournalUnavailable];

export const JOURNAL = operations({
  readOverview: {
    isAlwaysThere: true,
    method: "GET",
    path: "/v1/overview",
    summary:
      "Counts the calls of a range of time, and what is open now, of principals whose sessions the client " +
      "may inspect",
    access: ACCESS.read,
    query: {
      range: oneOf(["hour", "day", "week", "month"], {
        default: "day",
        description: "The range of time, which ends now: `month` has 30 days.",
      }),
    },
    answers: { 200: json(Overview, "The numbers. `recorded` is absent if the server has no journal.") },
    refusals: READING_THE_JOURNAL,
  },
  describeJournal: {
    method: "GET",
    path: "/v1/journal",
    summary: "Describes the journal",
    access: ACCESS.read,
    answers: { 200: json(JournalSummary, "The state of the journal.") },
    refusals: READING_THE_JOURNAL,
  },
  listRecordedCalls: {
    method: "GET",
    path: "/v1/journal/calls",
    summary: "Lists the recorded calls of principals whose sessions the client may inspect, the latest first",
    access: ACCESS.read,
    query: {
      before: integer({
        minimum: 1,
        description:
          "The `next` of an earlier page, or the number of a record: only calls that were recorded before it.",
      }),
      limit: integer({
        minimum: 1,
        maximum: MAX_LISTED_RECORDS,
        default: 100,
        description: "The most calls of the page.",
      }),
      tool: string({ description: "Only calls of this tool." }),
      session: string({ description: "Only calls of this session." }),
      code: string({ description: "Only calls that ended or were denied with this code." }),
      rule: string({ description: "Only calls whose decision this rule led to." }),
      sandbox: string({ description: "Only calls that were granted this sandbox." }),
      reached: string({ description: "Only calls that reached this limit, such as `wallTimeMs`." }),
      ruled: boolean({ description: "Whether a rule led to the decision." }),
      answer: oneOf(["any", "allow", "deny", "quick"], {
        description:
          "Only calls about which a person was asked: all of them, those allowed, those denied, or those " +
          "allowed within 2 s.",
      }),
      answeredBy: string({ description: "Only calls that this person allowed or denied." }),
      outcome: oneOf(["completed", "denied", "failed", "aborted"], {
        description:
          "Only calls that ended so: `denied` ones were not allowed to run, and `aborted` ones were cancelled.",
      }),
      since: integer({
        minimum: 0,
        description: "Only calls from this time on, in milliseconds since the epoch.",
      }),
      until: integer({
        minimum: 0,
        description: "Only calls before this time, in milliseconds since the epoch.",
      }),
    },
    answers: {
      200: json(
        RecordedCalls,
        "A page of the calls. It can have fewer than `limit`, or none, although there is a `next`: it ends " +
          "when enough was read.",
      ),
    },
    refusals: READING_THE_JOURNAL,
  },
  readRecordedCall: {
    method: "GET",
    path: "/v1/journal/calls/:seq",
    summary: "Reads the records of one call",
    access: ACCESS.read,
    answers: { 200: json(RecordedCall, "The records of the call. Their texts are rendered and cut.") },
    refusals: READING_THE_JOURNAL,
  },
  verifyJournal: {
    method: "POST",
    path: "/v1/journal/verification",
    summary: "Verifies the whole journal; readers and admins only",
    access: ACCESS.verifyJournal,
    answers: { 200: json(JournalVerification, "The result.") },
    refusals: [REFUSALS.TooManyVerifications, REFUSALS.NotVerified],
  },
  comparePolicies: {
    method: "POST",
    path: "/v1/journal/policy-diff",
    summary: "Decides on the latest recorded calls under another policy; admins only",
    access: ACCESS.administer,
    body: PolicyTrial,
    answers: {
      200: json(
        PolicyComparison,
        "How the decisions differ from those of the current policy. Nothing is replaced.",
      ),
    },
    refusals: [REFUSALS.TrialInvalid, REFUSALS.TooManyTrials, REFUSALS.NotCompared],
  },
  repeatCall: {
    method: "POST",
    path: "/v1/journal/calls/:seq/repeat",
    summary: "Decides on a recorded call again, or runs it again; admins only",
    access: ACCESS.administer,
    body: CallRepetition,
    answers: {
      200: json(
        RepeatedCall,
        "The decision, or the execution. The call is decided on, run and recorded as a call of the admin, " +
          "with the current tools and policy.",
      ),
    },
    refusals: [REFUSALS.NotRepeatable, REFUSALS.TooManyRepeats, REFUSALS.NotRepeated],
  },
});
