import { isBuiltin } from "node:module";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { Holding } from "./contract/holding.ts";
import { type MicrovmAvailability, microvmAvailability } from "./microvm/availability.ts";
import { openSandboxes, type SandboxesOptions } from "./open-sandboxes.ts";
import { type ProcessReport, reportProcess } from "./process/process-report.ts";

/** What works on this machine. */
export interface MachineReport {
  readonly node: NodeReport;
  readonly sandboxes: Readonly<Record<SandboxMode, Holding>>;
  readonly process: ProcessReport;
  readonly microvm: MicrovmAvailability;
}

/** Features of the running Node.js that not all versions have. */
export interface NodeReport {
  readonly version: string;
  /** Whether WebAssembly can wait for promises (JSPI). */
  readonly jspi: boolean;
  /** Whether native functions can be called: now, or only with an option of the command line. */
  readonly ffi: "available" | "needs --experimental-ffi" | "missing";
}

/**
 * Finds out what works on this machine: opens each sandbox, and confines a program that does nothing. Starts
 * no virtual machine.
 *
 * @param options The options for opening the sandboxes.
 */
export async function reportMachine({
  process: processOptions,
  microvm: microvmOptions,
}: Pick<SandboxesOptions, "process" | "microvm"> = {}): Promise<MachineReport> {
  await using sandboxes = await openSandboxes();
  const opens = async (mode: SandboxMode): Promise<Holding> => {
    try {
      // The code of a guest is compiled, so that its engine is known to run here.
      if (mode === "quickjs") await sandboxes.prepare({ quickjs: { source: "export default () => null" } });
      else await sandboxes.route(mode);
      return { holds: true };
    } catch (error) {
      return { holds: false, reason: (error as Error).message };
    }
  };
  const program = await reportProcess(processOptions);
  const microvm = await microvmAvailability(microvmOptions);
  return {
    node: reportNode(),
    sandboxes: {
      host: await opens("host"),
      wasm: await opens("wasm"),
      quickjs: await opens("quickjs"),
      process: program.confinement,
      microvm: microvm.available ? { holds: true } : { holds: false, reason: microvm.reason },
      remote: await opens("remote"),
    },
    process: program,
    microvm,
  };
}

function reportNode(): NodeReport {
  const hasFfi = isBuiltin("node:ffi");
  const knowsFfi = process.allowedNodeEnvironmentFlags.has("--experimental-ffi");
  return {
    version: process.versions.node,
    jspi: "Suspending" in WebAssembly,
    ffi: hasFfi ? "available" : knowsFfi ? "needs --experimental-ffi" : "missing",
  };
}
