import type { CoreModule } from "../core-module/core-module.ts";
import { mutableGlobals } from "../core-module/mutable-state.ts";
import { startsAtOnce } from "../core-module/start-function.ts";
import { type InterruptibleModule, makeInterruptible } from "../interruptible/interruptible.ts";

/** Components with more code than this are not checked for whether they can be restored. That takes 10 ms per MiB. */
const MAX_READ_BYTES = 1_024 * 1_024;

/** Restoring larger memories takes longer than creating an instance. */
const MAX_RESTORED_BYTES = 4 * 1_024 * 1_024;

/** Bytes of data segments that may be copied into memories outside a call, without a deadline. 64 MiB takes about 10 ms. */
const MAX_DATA_BYTES = 64 * 1_024 * 1_024;

/** A core module of a component, as read from its binary. */
export interface CoreSource {
  readonly binary: Uint8Array;
  readonly module: CoreModule;
  /** How many times the component instantiates it. */
  readonly instances: number;
}

/** The code of a component, ready to be compiled under a cap. */
export interface PreparedCode {
  /** Its core modules, in order. */
  readonly cores: readonly InterruptibleModule[];
  /** Whether creating an instance takes negligible time. */
  readonly startsAtOnce: boolean;
  /** For each module, the globals to restore besides the memories; `undefined` if an instance cannot be restored. */
  readonly globals: ReadonlyMap<number, readonly number[]> | undefined;
}

/**
 * Rewrites the core modules of a component, and analyses the code of those that are instantiated.
 *
 * @param initialBytes The initial size of an instance's memories.
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
