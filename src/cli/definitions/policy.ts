import { CONFIG, type Command, defineCommand, FOUND_CONFIG, JSON_OUTPUT, withConfig } from "../command.ts";

const explain = defineCommand({
  name: "policy explain",
  endsAtOnce: true,
  summary: "prints what the policy decides on a call, and why",
  arguments: {},
  options: {
    ...FOUND_CONFIG,
    call: {
      type: "string",
      required: true,
      value: "JSON",
      help: 'the call, such as \'{"tool":"read_file","arguments":{"path":"a.txt"}}\'',
    },
    principal: { type: "string", value: "JSON", help: "the caller; default: not known" },
    session: { type: "string", value: "ID", help: "the session; default: none" },
    "user-text": { type: "string", value: "TEXT", help: "what the user said" },
    earlier: {
      type: "string",
      value: "JSON",
      help: "a list of what came before, as in the cases of a policy test",
    },
    workspace: { type: "string", value: "DIR", help: "the workspace; default: none" },
    at: { type: "string", value: "TIME", help: "the time of the decision, with its zone; default: now" },
    suggest: {
      type: "boolean",
      help: "also prints the smallest change of the rules that would allow a denied call",
    },
    ...JSON_OUTPUT,
  },
  read: ({ json: isJson, suggest: suggests, "user-text": userText, ...others }) => ({
    ...others,
    userText,
    suggests,
    isJson,
  }),
  run: async (options, terminal) =>
    (await import("../commands/policy/explain.ts")).explain(
      await withConfig(options, "loads", terminal),
      terminal,
    ),
});

const test = defineCommand({
  name: "policy test",
  endsAtOnce: true,
  summary: "decides on the calls of a file, and compares the decisions with the expected ones",
  arguments: {
    "CASES.yaml": {
      isOptional: true,
      help: "the calls; default: sandgate.policy-test.yaml beside the config",
    },
  },
  options: {
    ...FOUND_CONFIG,
    config: {
      ...CONFIG,
      help: "default: sandgate.yaml beside the cases, or in this folder, if only you can write it",
    },
    policy: {
      type: "string",
      value: "FILE",
      help: "a policy file that decides in place of the config's policy",
    },
  },
  exitCodes: { 1: "a decision differs from the expected one" },
  read: ({ config, policy, yes }, { "CASES.yaml": cases }) => ({ cases, config, policy, isApproved: yes }),
  run: async (options, terminal) =>
    (await import("../commands/policy/test.ts")).testPolicy(options, terminal),
});

const diff = defineCommand({
  name: "policy diff",
  endsAtOnce: true,
  summary: "decides on recorded calls under two policies, and prints what changed",
  arguments: {
    OLD: { help: "the policy file or config to compare with" },
    NEW: { help: "the policy file or config that is compared" },
    // A shell expands `--journal records/*.jsonl` to several arguments.
    FILE: { isOptional: true, isMultiple: true, help: "further files of the journal" },
  },
  options: {
    journal: {
      type: "string",
      short: "j",
      multiple: true,
      required: true,
      value: "DIR|FILE",
      help: "the directory or a file of a journal",
    },
    "accept-wider": { type: "boolean", help: "exits with 0 even if NEW permits more" },
  },
  exitCodes: { 3: "NEW permits something that OLD does not" },
  read: ({ journal, "accept-wider": acceptsWider }, { OLD: before, NEW: after, FILE }) => ({
    before,
    after,
    acceptsWider,
    journals: [...journal, ...FILE],
  }),
  run: async (options, terminal) => (await import("../commands/policy/diff.ts")).diff(options, terminal),
});

const prove = defineCommand({
  name: "policy prove",
  endsAtOnce: true,
  summary: "prints which invariants hold for every call, and calls that violate the others",
  arguments: {},
  options: FOUND_CONFIG,
  exitCodes: { 1: "an invariant is not proved" },
  read: (options) => options,
  run: async (options, terminal) =>
    (await import("../commands/policy/prove.ts")).prove(
      await withConfig(options, "loads", terminal),
      terminal,
    ),
});

const attack = defineCommand({
  name: "policy attack",
  endsAtOnce: true,
  summary: "looks for sequences of allowed calls that end badly, and prints the shortest as a test",
  details: [
    "It knows five bad ends: what an outsider wrote is executed (untrusted-to-execution), what was read goes to where an outsider chose (secret-to-outsider), rules of Sandgate are written (own-rules), a session reads what outsiders wrote and secrets and sends them anywhere (lethal-trifecta), money goes to whom an outsider chose (money-to-strangers).",
  ],
  arguments: {},
  options: {
    ...FOUND_CONFIG,
    bad: {
      type: "string",
      value: "END",
      choices: [
        "untrusted-to-execution",
        "secret-to-outsider",
        "own-rules",
        "lethal-trifecta",
        "money-to-strangers",
      ],
      help: "the bad end to look for; default: all of them",
    },
  },
  exitCodes: { 1: "a bad end can be reached" },
  read: (options) => options,
  run: async (options, terminal) =>
    (await import("../commands/policy/attack.ts")).attack(
      await withConfig(options, "loads", terminal),
      terminal,
    ),
});

const learn = defineCommand({
  name: "policy learn",
  endsAtOnce: true,
  summary: "writes a policy that allows what rules and people allowed in recorded sessions",
  details: [
    "Evidence are the calls that a rule allowed, or a person after at least 2 seconds, in at least two sessions. The journal must say where arguments came from: see its option 'sources'.",
  ],
  arguments: {},
  options: {
    journal: {
      type: "string",
      short: "j",
      multiple: true,
      required: true,
      value: "DIR|FILE",
      help: "the directory or a file of a journal",
    },
    base: {
      type: "string",
      value: "FILE",
      help: "a policy file: only what its rules allowed is evidence; default: the recorded policies",
    },
    out: { type: "string", required: true, value: "FILE", help: "the proposal, which must not exist" },
    exclude: {
      type: "string",
      multiple: true,
      value: "SESSION",
      help: "the id of a session that is not evidence",
    },
  },
  exitCodes: { 1: "nothing can be learnt" },
  read: ({ journal: journals, base, out, exclude }) => ({ journals, base, out, exclude }),
  run: async (options, terminal) => (await import("../commands/policy/learn.ts")).learn(options, terminal),
});

/** `sandgate policy …` */
export const POLICY_COMMANDS: readonly Command[] = [explain, test, diff, prove, learn, attack];
