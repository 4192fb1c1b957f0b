import type { InterruptibleModule } from "../interruptible/interruptible.ts";
import { CompileCheck } from "./compile-check.ts";
import { ComponentValidator } from "./component-validator.ts";

/** Decides whether a component can run: wasm-tools validates it, and V8 compiles what may take it long. */
export class Validator {
  readonly #component = new ComponentValidator();
  readonly #compile = new CompileCheck();

  /**
   * Checks that a component is valid, and that no function takes V8 long to compile.
   *
   * @param cores Its core modules, once they are rewritten. The component is validated meanwhile.
   * @throws {ToolPreparationError} with the reason.
   */
  async validate(binary: Uint8Array, cores: Promise<readonly InterruptibleModule[]>): Promise<void> {
    const [rewritten] = await Promise.all([cores, this.#component.validate(binary)]);
    if (!rewritten.some(({ isSlow }) => isSlow)) return;
    await this.#compile.check(rewritten.map((core) => core.binary));
  }

  /** Compiles a large core module in a thread. */
  compile(binary: Uint8Array): Promise<WebAssembly.Module> {
    return this.#component.compile(binary);
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#compile.close();
    await this.#component.close();
  }
}
