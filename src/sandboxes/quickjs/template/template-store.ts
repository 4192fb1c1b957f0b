import type { Capabilities } from "../../../policy/grant/capabilities.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import type { QuickJsLimits } from "../quickjs-limits.ts";

/** The maximum size of all cached templates, in bytes. The least recently used ones are evicted first. */
const MAX_KEPT_BYTES = 256 * 1_024 * 1_024;

/** Identifies the template that a call starts from, by everything that evaluating the tool depends on. */
export interface TemplateKind {
  /** Identifies it among all templates. */
  readonly key: string;
  readonly memoryBytes: number;
  readonly stackBytes: number;
  /** Whether the call is granted files or the network. */
  readonly hasExternalAccess: boolean;
}

/** A tool that was loaded. */
export interface Template extends TemplateKind {
  readonly snapshot: Snapshot;
}

/** Whether a call is granted files or the network. */
function grantsExternalAccess({ net = NOTHING, fs = NOTHING }: Capabilities): boolean {
  return net.length > 0 || fs.length > 0;
}

const NOTHING: readonly never[] = [];

/**
 * Returns the kind of template for a call of a program.
 *
 * @param tool Identifies the program.
 */
export function templateKind(
  source: string,
  { memoryBytes, stackBytes }: QuickJsLimits,
  capabilities: Capabilities,
): TemplateKind {
  const hasExternalAccess = grantsExternalAccess(capabilities);
  const key = `${source} ${memoryBytes} ${stackBytes}${hasExternalAccess ? " outside" : ""}`;
  return { key, memoryBytes, stackBytes, hasExternalAccess };
}

/** Whether a call of the same program can start from a template of this kind. */
export function isKindFor(
  { memoryBytes, stackBytes, hasExternalAccess }: TemplateKind,
  limits: QuickJsLimits,
  capabilities: Capabilities,
): boolean {
  return (
    memoryBytes === limits.memoryBytes &&
    stackBytes === limits.stackBytes &&
    hasExternalAccess === grantsExternalAccess(capabilities)
  );
}

/** The templates of all tools, each loaded once, shared by all threads. */
export class TemplateStore<Failure> {
  /** The one that was used last comes last. */
  readonly #kept = new Map<string, Template>();
  readonly #loading = new Map<string, Promise<Template | Failure>>();
  readonly #onEvicted: (key: string) => void;
  /** Comes last. */
  #lastUsed: Template | undefined;
  #bytes = 0;

  /** @param onEvicted Called with the key of each template that is evicted. */
  constructor(onEvicted: (key: string) => void) {
    this.#onEvicted = onEvicted;
  }

  find(key: string): Template | undefined {
    const template = this.#kept.get(key);
    return template !== undefined && this.use(template) ? template : undefined;
  }

  /** Marks a template as used. Returns `false` if it is no longer cached. */
  use(template: Template): boolean {
    if (this.#lastUsed === template) return true;
    const { key } = template;
    if (this.#kept.get(key) !== template) return false;
    this.#kept.delete(key);
    this.#kept.set(key, template);
    this.#lastUsed = template;
    return true;
  }

  /**
   * Loads a template, or joins a load with the same wall time. Failures are not cached.
   *
   * @param wallTimeMs How long loading may take. Calls with different wall times load separately, since one may time
   *   out and the other not.
   */
  load(
    kind: TemplateKind,
    wallTimeMs: number,
    load: () => Promise<Snapshot | Failure>,
  ): Promise<Template | Failure> {
    const loadingKey = `${kind.key} ${wallTimeMs}`;
    const known = this.#loading.get(loadingKey);
    if (known !== undefined) return known;
    const loading = load()
      .then((loaded) => (isSnapshot(loaded) ? this.#keep({ ...kind, snapshot: loaded }) : loaded))
      .finally(() => this.#loading.delete(loadingKey));
    this.#loading.set(loadingKey, loading);
    return loading;
  }

  #keep(template: Template): Template {
    this.#bytes +=
      template.snapshot.bytes.byteLength - (this.#kept.get(template.key)?.snapshot.bytes.byteLength ?? 0);
    this.#kept.delete(template.key);
    this.#kept.set(template.key, template);
    this.#lastUsed = template;
    for (const [key, { snapshot }] of this.#kept) {
      if (this.#bytes <= MAX_KEPT_BYTES || key === template.key) break;
      this.#kept.delete(key);
      this.#bytes -= snapshot.bytes.byteLength;
      this.#onEvicted(key);
    }
    return template;
  }
}

function isSnapshot(loaded: unknown): loaded is Snapshot {
  return typeof loaded === "object" && loaded !== null && "anchor" in loaded;
}
