import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";

const SRC = fileURLToPath(new URL("../../src/", import.meta.url));

/**
 * Returns which files of `src` a function enters, sorted, when everything that it needs was loaded and opened before.
 *
 * @param warmUp How often it runs before.
 */
export async function enteredFiles(run: () => Promise<void>, warmUp: number): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  for (let call = 0; call < warmUp; call++) await run();
  // Only what is counted since the last time is reported.
  await session.post("Profiler.takePreciseCoverage");
  await run();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url, functions }) => {
      return url.startsWith(`file://${SRC}`) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    })
    .map(({ url }) => fileURLToPath(url).slice(SRC.length))
    .sort();
}
