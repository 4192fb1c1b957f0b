import type { TaskThread } from "../../threads/thread-message.ts";
import { stripProgramTypes, TypeStrippingError } from "../thread/type-stripper.ts";
import { checkModule } from "./check-module.ts";
import type { CheckAnswer, CheckTask, Finding } from "./finding.ts";

/** Maximum number of findings of one task: a module can have a million. */
const MAX_FINDINGS = 100;

/** Checks modules of a tool. It runs in a thread that can be ended, because parsing hostile code can take long. */
export default function checkModules({ sources, globals }: CheckTask, thread: TaskThread): CheckAnswer {
  thread.markStarted();
  const known = new Set(globals);
  const findings: Finding[] = [];
  const imports = new Set<string>();
  for (const [name, source] of Object.entries(stripped(sources))) {
    const checked = checkModule(name, source, known);
    findings.push(...checked.findings.slice(0, MAX_FINDINGS - findings.length));
    for (const imported of checked.imports) imports.add(imported);
  }
  return { findings, imports: [...imports] };
}

/** Removes types. A module whose types cannot be removed is left out: loading the tool reports why. */
function stripped(sources: CheckTask["sources"]): CheckTask["sources"] {
  try {
    return stripProgramTypes({ entry: "", exportName: "", sources }).sources;
  } catch (error) {
    if (!(error instanceof TypeStrippingError)) throw error;
    return {};
  }
}
