/** `npm run bench -- [host|import|schema|worker|quickjs|wasm|remote]… [--quick] [--json]` */
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { host, hostLoad } from "./host.ts";
import { importing } from "./import.ts";
import { type Figure, measure, type Question } from "./measure.ts";
import { quickjs, quickjsLoad } from "./quickjs.ts";
import { remote, remoteEndpoint, remoteLoad, remoteMany } from "./remote.ts";
import { remoteExecutor, remoteExecutorLoad, remoteExecutorMany } from "./remote-executor.ts";
import { registration, schema } from "./schema.ts";
import { wasm } from "./wasm.ts";
import { wasmFirstCall } from "./wasm-first-call.ts";
import { wasmRegistration } from "./wasm-registration.ts";
import { worker } from "./worker.ts";

const QUESTIONS: Record<string, readonly (() => Promise<Question>)[]> = {
  host: [host, hostLoad],
  import: [importing],
  schema: [schema, registration],
  worker: [worker],
  quickjs: [quickjs, quickjsLoad],
  wasm: [wasm, wasmRegistration, wasmFirstCall],
  remote: [
    remote,
    remoteLoad,
    remoteMany,
    remoteEndpoint,
    remoteExecutor,
    remoteExecutorLoad,
    remoteExecutorMany,
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => QUESTIONS[name] === undefined);
if (unknown.length > 0) {
  console.error(`No such question: ${unknown.join(", ")}. There are ${Object.keys(QUESTIONS).join(", ")}.`);
  process.exit(2);
}
const effort = values.quick ? { rounds: 3, roundMs: 100 } : { rounds: 9, roundMs: 400 };

const results: Record<string, Figure[]> = {};
for (const name of positionals.length > 0 ? positionals : Object.keys(QUESTIONS)) {
  for (const open of QUESTIONS[name] ?? []) {
    const question = await open();
    const figures = await measure(question, effort);
    results[question.name] = figures;
    await question.close?.();
    if (!values.json) printTable(question.name, figures);
  }
}
const machine = `${cpus()[0]?.model ?? "?"}, ${availableParallelism()} cores, Node ${process.versions.node}`;
if (values.json) console.log(JSON.stringify({ machine, effort, results }, null, 2));
else console.log(`${machine}, load ${loadavg()[0]?.toFixed(1)}; medians of ${effort.rounds} rounds`);

function printTable(name: string, figures: readonly Figure[]): void {
  console.log(`${name}\n| case | p50 µs | p99 µs | ratio | spread | heap bytes |\n|---|---|---|---|---|---|`);
  for (const { name: what, p50, p99, ratio, spread, bytes } of figures) {
    const range = spread.map((bound) => bound.toFixed(2)).join("–");
    console.log(
      `| ${what} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${ratio.toFixed(2)} | ${range} | ${bytes.toFixed(0)} |`,
    );
  }
  console.log();
}
