import { writeFile } from "node:fs/promises";
import { Document, isMap, isSeq } from "yaml";
import { readConfigFile } from "../../../config/source.ts";
import { type LearnedPolicy, learnPolicy } from "../../../journal/read/learn-policy.ts";
import type { JsonValue } from "../../../json/value.ts";
import { readPolicy } from "../../../policy/file/read.ts";
import type { LearnedRule, TestedCall } from "../../../policy/learn-rules.ts";
import { writtenRule } from "../../../policy/remedy/written-policy.ts";
import type { RulePolicyOptions } from "../../../policy/rule/rule.ts";
import { joinShown, shown, toLine } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { showProgress } from "../../progress.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal.ts";

/** Options of `sandgate policy learn`. */
interface LearnOptions {
  /** Directories of journals, or files of them. */
  readonly journals: readonly string[];
  /** A policy file. Default: the policies that were recorded with the calls. */
  readonly base: string | undefined;
  /** The file of the proposal, which must not exist. */
  readonly out: string;
  /** Ids of sessions. */
  readonly exclude: readonly string[];
}

const MAX_COMMENT = 400;

/**
 * Writes a policy that allows what rules and people allowed in recorded sessions, and beside it the cases that test its
 * rules. The exit code is 1 if nothing can be learnt.
 *
 * @throws {ConfigError} if the base is invalid.
 * @throws {JournalError} if a journal cannot be read.
 */
export async function learn(
  { journals, base, out, exclude }: LearnOptions,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const options = base === undefined ? undefined : await readBase(base);
  const progress = showProgress({ stderr }, "reading the recorded calls twice");
  const learned = await learnPolicy({
    places: journals,
    exclude: new Set(exclude),
    ...(options && { base: options }),
  }).finally(() => progress[Symbol.dispose]());
  await print(stdout, summary(learned));
  if (learned.rules.length === 0) return EXIT_TOOL_FAILED;
  const cases = `${out.replace(/\.ya?ml$/, "")}.policy-test.yaml`;
  await write(out, proposalText(learned, out));
  await write(cases, casesText(learned.rules));
  await print(stdout, shown`wrote ${out}, and ${cases} with a test of each rule`);
  return EXIT_OK;
}

async function readBase(file: string): Promise<RulePolicyOptions> {
  const { policy } = readPolicy(await readConfigFile(file), []);
  return JSON.parse(policy.sources[0] as string) as RulePolicyOptions;
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(shown`'${path}' exists: remove it, or give another --out`);
  }
}

function summary({ rules, calls, left }: LearnedPolicy): ReturnType<typeof joinShown> {
  const covered = rules.reduce((sum, rule) => sum + rule.calls, 0);
  return joinShown(
    [
      shown`${rules.length} rules allow ${covered} of ${calls} calls`,
      ...[...left]
        .sort(([, one], [, other]) => other - one)
        .map(([cause, count]) => shown`  ${count}: ${cause}`),
    ],
    "\n",
  );
}

/** The text of a policy file, in which each rule has its evidence as a comment. */
function proposalText({ rules, untrusted }: LearnedPolicy, file: string): string {
  const document = new Document({
    ...(untrusted && { untrusted }),
    rules: rules.map(({ rule }) => writtenRule(rule, file)),
  });
  document.commentBefore =
    " A proposal of 'sandgate policy learn'. Read every rule: what is also allowed is one example of what nobody has allowed yet.\n Nothing is proposed for tools of the class destructive.";
  const list = document.get("rules");
  for (const [index, { calls, sessions, principals, witness }] of rules.entries()) {
    const node = isSeq(list) ? list.items[index] : undefined;
    if (!isMap(node)) continue;
    const by = principals === 0 ? "" : `, by ${principals} principals`;
    node.commentBefore = [
      ` Evidence: ${calls} calls in ${sessions} sessions${by}.`,
      witness === undefined
        ? " Also allowed: nothing."
        : comment(` Also allowed: ${JSON.stringify(witness.arguments)}`),
    ].join("\n");
  }
  return document.toString({ lineWidth: 110 });
}

/** The text of a file of cases: of each rule, a call of the evidence, and one that it allows besides. */
function casesText(rules: readonly LearnedRule[]): string {
  const cases = rules.flatMap(({ rule, example, witness }) => [
    caseOf(`${rule.name}: as recorded`, example),
    ...(witness === undefined ? [] : [caseOf(`${rule.name}: also allowed`, witness)]),
  ]);
  return new Document(cases).toString({ lineWidth: 110 });
}

function caseOf(name: string, { tool, arguments: input, userText, earlier }: TestedCall): object {
  return {
    name,
    call: { tool, arguments: input },
    userText,
    ...(earlier.length > 0 && {
      earlier: earlier.map((each) => ({
        call: { tool: each.tool, arguments: each.arguments },
        output: each.output satisfies JsonValue,
      })),
    }),
    expect: "allow",
  };
}

function comment(text: string): string {
  const line = toLine(text);
  return line.length > MAX_COMMENT ? `${line.slice(0, MAX_COMMENT)} …` : line;
}
