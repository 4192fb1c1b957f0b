import { problemOf, type Registration } from "./registration.ts";

/** How often is looked, in ms. */
const LOOK_EVERY_MS = 30_000;

/**
 * Looks again and again whether Restate still gives the calls of some services to a deployment: other code can be registered
 * under their names at any time, and would get them.
 */
export class RegistrationWatch {
  readonly #registration: Registration;
  readonly #deployment: string;
  readonly #onChange: (problem: string | undefined) => void;
  #problem: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  /** @param onChange Called with each problem, and `undefined` when there is none any longer. */
  constructor(
    registration: Registration,
    deployment: string,
    onChange: (problem: string | undefined) => void,
  ) {
    this.#registration = registration;
    this.#deployment = deployment;
    this.#onChange = onChange;
  }

  /** Why calls go elsewhere, as of the last time that Restate was asked; `undefined` if they do not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Looks now. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    let problem: string | undefined;
    try {
      problem = await problemOf(this.#registration, this.#deployment);
    } catch {
      // The admin API cannot be reached, which calls do not need.
      return;
    }
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onChange(problem);
  }
}
