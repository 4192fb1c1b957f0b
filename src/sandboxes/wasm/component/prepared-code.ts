import type { CoreModule } from "../core-module/core-module.ts";
import { mutableGlobals } from "../core-module/mutable-state.ts";
import { startsAtOnce } from "../core-module/start-function.ts";
import { type InterruptibleModule, makeInterruptible } from "../interruptible/interruptible.ts";

/** More code is not looked at to see whether an instance can be restored. It takes 10 ms for each MiB. */
const MAX_READ_BYTES = 1_024 * 1_024;

/** Restoring larger memories takes longer than making an instance. */
const MAX_RESTORED_BYTES = 4 * 1_024 * 1_024;

/** More data is not copied into memories where no deadline is. It takes about 10 ms. */
const MAX_DATA_BYTES = 64 * 1_024 * 1_024;

/** A core module of a component, as it was read. */
export interface CoreSource {
  readonly binary: Uint8Array;
  readonly module: CoreModule;
  /** How often the component instantiates it. */
  readonly instances: number;
}

/** The code of a component, ready to be compiled under a cap. */
export interface PreparedCode {
  /** Its core modules, in order. */
  readonly cores: readonly InterruptibleModule[];
  /** Whether making an instance takes no time to speak of. */
  readonly startsAtOnce: boolean;
  /** By module, the globals to restore beside the memories; `undefined` if an instance cannot be restored. */
  readonly globals: ReadonlyMap<number, readonly number[]> | undefined;
}

/**
 * Rewrites the core modules of a component, and finds out what their code does as far as they are instantiated.
 *
 * @param initialBytes What the memories of an instance take from the start.
 * @throws {ToolPreparationError} if one has instructions that are not supported, or takes too long to compile.
 */
export async function prepareCode(
  sources: readonly CoreSource[],
  initialBytes: number,
): Promise<PreparedCode> {
  const cores: InterruptibleModule[] = [];
  for (const { binary, module } of sources) cores.push(await makeInterruptible(binary, module));
  const used = [...sources.entries()].filter(([, { instances }]) => instances > 0);
  const dataBytes = used.reduce((sum, [, { module, instances }]) => sum + instances * dataBytesOf(module), 0);
  const isBounded = dataBytes <= MAX_DATA_BYTES && used.every(([, { module }]) => startsAtOnce(module));
  const codeBytes = used.reduce((sum, [, { module }]) => sum + (module.code?.length ?? 0), 0);
  if (!isBounded || codeBytes > MAX_READ_BYTES || initialBytes > MAX_RESTORED_BYTES) {
    return { cores, startsAtOnce: isBounded, globals: undefined };
  }
  const globals = new Map<number, readonly number[]>();
  for (const [index, { module }] of used) {
    const own = mutableGlobals(module);
    if (own === undefined) return { cores, startsAtOnce: isBounded, globals: undefined };
    globals.set(index, own);
  }
  return { cores, startsAtOnce: isBounded, globals };
}

function dataBytesOf({ dataBytes }: CoreModule): number {
  return dataBytes.reduce((sum, bytes) => sum + bytes, 0);
}
