import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type MeasureOptions, UsageError } from "./command-line.ts";
import {
  type BesideBaseline,
  baselineTable,
  besideBaseline,
  isFarWorse,
  readBaseline,
  writeBaseline,
} from "./harness/baseline.ts";
import { busyShare, busyWarning } from "./harness/busy.ts";
import type { Question } from "./harness/case.ts";
import { install } from "./harness/install.ts";
import { currentLoad, describeMachine } from "./harness/machine.ts";
import { type Effort, measure, type QuestionResult } from "./harness/measure.ts";
import { Progress } from "./harness/progress.ts";
import type { Report } from "./harness/report.ts";
import { scaleEnds } from "./harness/scale-ends.ts";
import { machineLine, questionTable } from "./harness/table.ts";
import { openSuite } from "./suites.ts";

const FULL: Effort = { rounds: 7, roundMs: 250, warmUpMs: 3_000 };
const QUICK: Effort = { rounds: 3, roundMs: 60, warmUpMs: 400 };

/**
 * Measures suites and prints the results. Returns the exit code.
 *
 * @throws {UsageError} if no question is chosen.
 */
export async function runSuites(suites: readonly string[], options: MeasureOptions): Promise<number> {
  const chosen = await chooseQuestions(suites, options.only);
  if (options.hasPeers) install("peers");
  if (options.plots || options.writesDocs) install("plot");
  const effort = options.isQuick ? QUICK : FULL;
  const loadBefore = currentLoad();
  const questions: QuestionResult[] = [];
  // With --json, standard output must contain only the report.
  const print = options.isJson ? console.error : console.log;
  const warning = busyWarning(await busyShare());
  if (warning !== undefined) print(`${warning}\n`);
  using progress = new Progress(process.stderr, chosen.length);
  for (const { suite, question } of chosen) {
    progress.begin(question.name);
    const asked = options.isQuick ? scaleEnds(question) : question;
    const result = await ask(suite, asked, options.hasPeers, effort);
    questions.push(result);
    progress.clear();
    if (!options.isJson) console.log(questionTable(result));
  }
  const command = `npm run bench -- ${process.argv.slice(2).join(" ")}`.trim();
  const report: Report = { command, machine: describeMachine(loadBefore), effort, questions };
  if (options.isJson) console.log(JSON.stringify(report, null, 2));
  else console.log(machineLine(report.machine, effort));
  await writeReport(report, options);
  if (options.baseline === "write") writeBaseline(report);
  return options.baseline === "check" ? checkBaseline(report, options) : 0;
}

interface Chosen {
  readonly suite: string;
  readonly question: Question;
}

async function chooseQuestions(suites: readonly string[], only: string): Promise<readonly Chosen[]> {
  const all: Chosen[] = [];
  for (const suite of suites) for (const question of await openSuite(suite)) all.push({ suite, question });
  const chosen = all.filter(({ question }) => question.name.includes(only));
  if (chosen.length > 0) return chosen;
  const names = all.map(({ question }) => question.name).join(", ");
  throw new UsageError(`no question has '${only}' in its name: there are ${names}`);
}

async function writeReport(
  report: Report,
  { out, plots, writesDocs }: Pick<MeasureOptions, "out" | "plots" | "writesDocs">,
): Promise<void> {
  if (out !== undefined) {
    const folder = pathToFileURL(`${resolve(out)}/`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(new URL("report.json", folder), `${JSON.stringify(report, null, 2)}\n`);
    if (plots) await (await import("./plot/write-charts.ts")).writeCharts(report, folder);
  }
  if (writesDocs) await (await import("./plot/write-docs.ts")).writeDocs(report);
}

async function ask(
  suite: string,
  question: Question,
  hasPeers: boolean,
  effort: Effort,
): Promise<QuestionResult> {
  const cases = question.cases.filter(({ isPeer }) => hasPeers || !isPeer);
  return measure(suite, { ...question, cases }, effort, (subject, reason) => {
    console.error(`(${question.name}: '${subject.name}' is skipped: ${reason})`);
  });
}

/** How often a case is measured again before a ratio that is far worse fails the run. */
const MORE_MEASUREMENTS = 3;

/**
 * Returns 1 if a ratio is far worse than the baseline's, also each time that its case is measured again, with full
 * effort and in new processes: on a busy machine, threads of one process may all be slow to wake up.
 */
async function checkBaseline(report: Report, { hasPeers, isJson }: MeasureOptions): Promise<number> {
  // With --json, standard output must contain only the report.
  const print = isJson ? console.error : console.log;
  const baseline = readBaseline();
  const all = besideBaseline(report, baseline);
  print(`\n${baselineTable(all)}`);
  let suspects = all.filter(isFarWorse);
  for (let more = 0; more < MORE_MEASUREMENTS && suspects.length > 0; more++) {
    const names = suspects.map(({ question, name }) => `${question}: ${name}`).join("; ");
    print(`\nMeasuring again with full effort: ${names}\n`);
    const again = besideBaseline(await measureAgain(report, suspects, hasPeers), baseline);
    print(baselineTable(again));
    suspects = again.filter(isFarWorse);
  }
  return suspects.length > 0 ? 1 : 0;
}

/** Measures some cases, and the floors that they need, with full effort. */
async function measureAgain(
  report: Report,
  suspects: readonly BesideBaseline[],
  hasPeers: boolean,
): Promise<Report> {
  const questions: QuestionResult[] = [];
  for (const { suite, name, figures } of report.questions) {
    const own = suspects.filter(({ question }) => question === name).map((suspect) => suspect.name);
    const needed = figures.flatMap((figure) =>
      own.includes(figure.name) ? [figure.name, figure.floor] : [],
    );
    const question = (await openSuite(suite)).find((each) => each.name === name);
    if (needed.length === 0 || question === undefined) continue;
    const cases = question.cases.filter((each) => needed.includes(each.name));
    questions.push(await ask(suite, { ...question, cases }, hasPeers, FULL));
  }
  return { ...report, questions };
}
