import { type Changes, toChanges } from "../../tool/changes.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import { DirectorySnapshot, type SnapshotPlace } from "../../workspace/directory-snapshot.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import type { TaskObserver } from "../contract/task.ts";
import type { Program } from "./program.ts";

/** Finds out what a program changes in the places that it can write to. */
export class ProgramChanges {
  readonly #isWanted: boolean;
  readonly #program: Program;
  readonly #places: readonly SnapshotPlace[];
  readonly #observer: TaskObserver;
  #before: DirectorySnapshot | undefined;

  constructor(
    { reportsChanges = false }: ProcessImplementation,
    program: Program,
    places: readonly SnapshotPlace[],
    observer: TaskObserver,
  ) {
    this.#isWanted = reportsChanges;
    this.#program = program;
    this.#places = places;
    this.#observer = observer;
  }

  /** Looks at the places before the program starts, if the tool asks for that. Never rejects. */
  async begin(): Promise<void> {
    if (!this.#isWanted || this.#places.length === 0) return;
    this.#before = await this.#reported(() => DirectorySnapshot.take(this.#places));
  }

  /** Adds what was changed to the outcome of a program that has ended. Never rejects. */
  async addTo(outcome: SandboxOutcome): Promise<SandboxOutcome> {
    if (this.#before === undefined || outcome.mayStillRun || outcome.status === "unavailable") return outcome;
    const before = this.#before;
    const changes = await this.#reported(async () =>
      this.#changes(before, await DirectorySnapshot.take(this.#places)),
    );
    return changes === undefined ? outcome : { ...outcome, changes };
  }

  #changes(before: DirectorySnapshot, after: DirectorySnapshot): Changes {
    const { command, args } = this.#program;
    return toChanges(before.changesTo(after), { command: [command, ...args].join(" ") });
  }

  /** Without a whole snapshot, what was changed is not known, which operators should know. */
  async #reported<Found>(look: () => Promise<Found>): Promise<Found | undefined> {
    try {
      return await look();
    } catch (error) {
      this.#observer.log("warn", `What the program changes is not reported: ${(error as Error).message}`);
      return undefined;
    }
  }
}
