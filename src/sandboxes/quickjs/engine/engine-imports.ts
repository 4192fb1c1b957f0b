/** The clock of the engine, which depends on the call that runs. */
export interface EngineClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

type ImportedFunction = (...args: never[]) => unknown;

/**
 * Replaces those of emscripten's imports that would give access to this process: its exit, timers, console, time zone
 * and locale. The minified names are those of the only build that is loaded.
 */
export function confineImports(
  imports: WebAssembly.Imports,
  memory: WebAssembly.Memory,
  clock: EngineClock,
): WebAssembly.Imports {
  const confined: Record<string, ImportedFunction> = {
    // emscripten_date_now
    p: () => clock.now(),
    // _localtime_js and _tzset_js: always UTC, since results must not depend on the host's time zone.
    m: (seconds: bigint, tm: number) => writeUtc(new Int32Array(memory.buffer, tm, 10), Number(seconds)),
    n: (timezone: number, daylight: number, name: number, daylightName: number) => {
      const view = new DataView(memory.buffer);
      view.setInt32(timezone, 0, true);
      view.setInt32(daylight, 0, true);
      for (const at of [name, daylightName]) new Uint8Array(memory.buffer).set(UTC, at);
    },
    // proc_exit
    r: () => {
      throw new WebAssembly.RuntimeError("the engine exited");
    },
    // _setitimer_js, environ_get and environ_sizes_get
    j: () => 0,
    e: () => 0,
    f: (count: number, bytes: number) => {
      const view = new DataView(memory.buffer);
      view.setInt32(count, 0, true);
      view.setInt32(bytes, 0, true);
      return 0;
    },
    // fd_write: output is dropped; the error that the engine throws has the reason for an abort.
    c: () => ERRNO_BADF,
  };
  return { a: { ...imports["a"], ...(confined as WebAssembly.ModuleImports) } };
}

const ERRNO_BADF = 8;
const UTC = Buffer.from("UTC\0");
const MS_PER_DAY = 86_400_000;

/** Fills a `struct tm`: seconds, minutes, hours, day, month, year, week day, day of the year, DST, offset. */
function writeUtc(tm: Int32Array, seconds: number): void {
  const date = new Date(seconds * 1_000);
  const year = date.getUTCFullYear();
  const dayOfYear = Math.floor((date.getTime() - Date.UTC(year, 0, 1)) / MS_PER_DAY);
  tm.set([date.getUTCSeconds(), date.getUTCMinutes(), date.getUTCHours(), date.getUTCDate()], 0);
  tm.set([date.getUTCMonth(), year - 1_900, date.getUTCDay(), dayOfYear, 0, 0], 4);
}
