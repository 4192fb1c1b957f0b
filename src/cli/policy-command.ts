import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { CONFIG, HELP, parse, required } from "./parse-options.ts";

/** A command on a policy. */
export type PolicyCommand =
  | {
      readonly name: "policy explain";
      readonly config: string;
      /** JSON text: the tool and the arguments. */
      readonly call: string;
      /** JSON text. Default: the caller is not known. */
      readonly principal: string | undefined;
      readonly session: string | undefined;
      readonly userText: string | undefined;
      /** JSON text: a list of what came before, as in the cases of a policy test. */
      readonly earlier: string | undefined;
      readonly workspace: string | undefined;
      readonly isJson: boolean;
    }
  | {
      readonly name: "policy test";
      /** Default: `sandgate.policy-test.yaml` beside the config. */
      readonly cases: string | undefined;
      /** Default: `sandgate.yaml` beside the cases, or in the working directory. */
      readonly config: string | undefined;
    }
  | {
      readonly name: "policy diff";
      /** Policy files, or configs. */
      readonly before: string;
      readonly after: string;
      /** Directories of journals, or files of them. At least one. */
      readonly journals: readonly string[];
      readonly acceptsWider: boolean;
    }
  | { readonly name: "policy prove"; readonly config: string };

const SUBCOMMANDS = { explain: parseExplain, test: parseTest, diff: parseDiff, prove: parseProve };

/**
 * Parses the arguments after `policy`. Returns `undefined` if they ask for help.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parsePolicy([name = "", ...args]: readonly string[]): PolicyCommand | undefined {
  if (name === "--help" || name === "-h") return undefined;
  if (Object.hasOwn(SUBCOMMANDS, name)) return SUBCOMMANDS[name as keyof typeof SUBCOMMANDS](args);
  const names = Object.keys(SUBCOMMANDS).join(", ");
  throw new UsageError(shown`'policy' must be followed by one of ${names}, not '${name}'`);
}

function parseExplain(args: readonly string[]): PolicyCommand | undefined {
  const options = {
    call: { type: "string" },
    principal: { type: "string" },
    session: { type: "string" },
    "user-text": { type: "string" },
    earlier: { type: "string" },
    workspace: { type: "string" },
    json: { type: "boolean" },
  } as const;
  const { values } = parse(args, { ...HELP, ...CONFIG, ...options }, 0);
  if (values.help) return undefined;
  const { call, principal, session, "user-text": userText, earlier, workspace } = values;
  if (call === undefined) {
    throw new UsageError(
      shown`--call is missing: such as '{"tool":"read_file","arguments":{"path":"a.txt"}}'`,
    );
  }
  return {
    ...{ name: "policy explain", config: required(values.config), call, principal, session, userText },
    ...{ earlier, workspace, isJson: values.json === true },
  };
}

function parseTest(args: readonly string[]): PolicyCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...CONFIG }, 1);
  return values.help ? undefined : { name: "policy test", cases: positionals[0], config: values.config };
}

function parseDiff(args: readonly string[]): PolicyCommand | undefined {
  const options = {
    journal: { type: "string", short: "j", multiple: true },
    "accept-wider": { type: "boolean" },
  } as const;
  const { values, positionals } = parse(args, { ...HELP, ...options }, args.length);
  if (values.help) return undefined;
  const [before, after, ...more] = positionals;
  if (before === undefined || after === undefined) {
    throw new UsageError(shown`OLD or NEW is missing: the policy files to compare`);
  }
  // A shell expands `--journal records/*.jsonl` to several arguments.
  const journals = [...(values.journal ?? []), ...more];
  if (values.journal === undefined)
    throw new UsageError(shown`--journal is missing: the directory or a file of a journal`);
  return { name: "policy diff", before, after, journals, acceptsWider: values["accept-wider"] === true };
}

function parseProve(args: readonly string[]): PolicyCommand | undefined {
  const { values } = parse(args, { ...HELP, ...CONFIG }, 0);
  return values.help ? undefined : { name: "policy prove", config: required(values.config) };
}
