import { setTimeout as sleep } from "node:timers/promises";
import type { PersonAnswer } from "../../src/sessions/confirmations/answer.ts";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import { Random } from "../guests/fuzz/random.ts";
import type { OpenConfirmation, Subject } from "./subject.ts";
import type { Step, Vector, VectorMessage } from "./vector.ts";
import { settle, type World } from "./world.ts";

/** Where the store is, and what a crash does to it. */
export interface Disk<Store = SessionStore> {
  /** Whether anything is written and not durable. */
  readonly hasPending: boolean;
  sync(): void;
  /** The process dies. */
  crash(): void;
  /** Lets the next write fail. Default: no write fails. */
  failNext?(): void;
  /** The store, for the process that starts. */
  open(): Store;
}

/** Survives the process that plays the actors, if that is killed. */
export interface Progress {
  /** How many steps each actor has taken, and what it has seen. */
  readonly actors: readonly { readonly taken: number; readonly seen: readonly OpenConfirmation[] }[];
  /** Keeps that an actor takes a step. */
  take(actor: number, seen: OpenConfirmation | undefined): void;
}

export type OpenSubject<Store = SessionStore> = (store: Store, world: World) => Subject;

/** What became of a vector in one interleaving. */
export interface Ending {
  /** What happened, in order. */
  readonly log: readonly string[];
  /** Whether all calls have ended. */
  readonly hasEnded: boolean;
  readonly crashes: number;
}

/** Far more than any vector needs. */
const MAX_ROUNDS = 500;

interface InterleavedParts<Store> {
  readonly openSubject: OpenSubject<Store>;
  readonly world: World;
  readonly disk: Disk<Store>;
}

/** Plays a vector in the interleaving that a seed chooses. */
export async function interleave<Store>(
  vector: Vector,
  seed: number,
  parts: InterleavedParts<Store>,
  progress?: Progress,
): Promise<Ending> {
  return new Interleaving(vector, new Random(seed), parts, progress).toEnd();
}

interface Actor {
  readonly index: number;
  readonly steps: Step[];
  readonly seen: OpenConfirmation[];
}

class Interleaving<Store> {
  readonly #random: Random;
  readonly #openSubject: OpenSubject<Store>;
  readonly #world: World;
  readonly #disk: Disk<Store>;
  readonly #progress: Progress | undefined;
  readonly #log: string[] = [];
  readonly #actors: readonly Actor[];
  /** What the caller holds, and may change. */
  readonly #messages: readonly VectorMessage[];
  readonly #settled = new Set<VectorMessage>();
  #subject: Subject;
  #crashes = 0;

  constructor(
    vector: Vector,
    random: Random,
    { openSubject, world, disk }: InterleavedParts<Store>,
    progress: Progress | undefined,
  ) {
    this.#disk = disk;
    this.#progress = progress;
    this.#random = random;
    this.#openSubject = openSubject;
    this.#world = world;
    this.#actors = vector.actors.map((steps, index) => {
      const { taken = 0, seen = [] } = progress?.actors[index] ?? {};
      return { index, steps: steps.slice(taken), seen: [...seen] };
    });
    this.#messages = structuredClone(vector.messages);
    this.#subject = openSubject(this.#disk.open(), world);
  }

  async toEnd(): Promise<Ending> {
    this.#start();
    let hasEnded = false;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await settle();
      const actions = this.#actions();
      if (actions.length > 0) await this.#random.pick(actions)();
      else if (this.#subject.isBusy?.()) await sleep(1);
      else if (this.#settled.size === this.#messages.length) {
        hasEnded = true;
        break;
      } else if (!this.#answerRest()) await sleep(1);
    }
    this.#subject.discard();
    const { length } = this.#messages;
    this.#log.push(hasEnded ? "end" : `stuck: ${this.#settled.size} of ${length} messages have ended`);
    return { log: this.#log, hasEnded, crashes: this.#crashes };
  }

  /** A process starts, and the caller sends what it has no result of. */
  #start(): void {
    const subject = this.#subject;
    subject.start().then(
      () => {
        for (const message of this.#messages) if (!this.#settled.has(message)) this.#send(message, subject);
      },
      (error) => {
        this.#log.push(`start failed: ${String(error)}`);
        this.#restart();
      },
    );
  }

  /** The process dies, and what was not synced is lost. Another process starts. */
  #restart(): void {
    this.#disk.crash();
    this.#subject.discard();
    this.#crashes++;
    this.#settled.clear();
    this.#subject = this.#openSubject(this.#disk.open(), this.#world);
    this.#start();
  }

  #send(message: VectorMessage, subject: Subject): void {
    subject.dispatch(message).then(
      () => {
        if (subject === this.#subject) this.#settled.add(message);
      },
      (error) => {
        this.#log.push(`dispatch failed: ${String(error)}`);
        // Not at once: a store that refuses at once would never have its turn to recover.
        void sleep(1).then(() => {
          if (subject === this.#subject) this.#send(message, subject);
        });
      },
    );
  }

  /** What can happen next. */
  #actions(): (() => void | Promise<void>)[] {
    const actions: (() => void | Promise<void>)[] = [];
    if (this.#disk.hasPending) actions.push(() => this.#disk.sync());
    const { waiting } = this.#world;
    if (waiting.length > 0) actions.push(() => waiting.splice(this.#random.below(waiting.length), 1)[0]?.());
    for (const actor of this.#actors) {
      const [step] = actor.steps;
      if (step === undefined || (step.do === "see" && !this.#canSee(step))) continue;
      actions.push(() => {
        actor.steps.shift();
        this.#progress?.take(actor.index, step.do === "see" ? this.#confirmationOf(step) : undefined);
        this.#log.push(JSON.stringify(step));
        this.#take(step, actor);
      });
    }
    // What it works on may take many turns of the event loop, between which each of the others can happen.
    if (actions.length > 0 && this.#subject.isBusy?.()) actions.push(() => sleep(1));
    return actions;
  }

  #confirmationOf({ session, message, call }: Extract<Step, { do: "see" }>): OpenConfirmation | undefined {
    return this.#subject
      .open()
      .find((open) => open.sessionId === session && open.messageId === message && open.callId === call);
  }

  /** A person who waits for a confirmation gives up when the message has ended. */
  #canSee(step: Extract<Step, { do: "see" }>): boolean {
    const hasEnded = [...this.#settled].some(
      ({ session, id }) => session === step.session && id === step.message,
    );
    return hasEnded || this.#confirmationOf(step) !== undefined;
  }

  #take(step: Step, { seen }: Actor): void {
    const message = this.#messages.find(({ id }) => "message" in step && id === step.message);
    switch (step.do) {
      case "see": {
        const confirmation = this.#confirmationOf(step);
        if (confirmation !== undefined) seen.push(confirmation);
        break;
      }
      case "answer":
        this.#answer(step, seen);
        break;
      case "crash":
        this.#restart();
        break;
      case "mutate": {
        const call = message?.calls.find(({ id }) => id === step.call);
        (call?.arguments as { path: string }).path = "mutated";
        break;
      }
      case "resend":
        if (message !== undefined) {
          const calls = step.calls ?? message.calls;
          this.#subject
            .dispatch({ ...message, calls })
            .catch((error) => this.#log.push(`resend: ${String(error)}`));
        }
        break;
      case "cancel":
        if (message !== undefined) this.#subject.cancel(message);
        break;
      case "mode":
        this.#subject.setMode?.(step.session, step.to);
        break;
      case "policy":
        this.#world.policy = step.to;
        break;
      case "definition":
        this.#world.changeDefinition();
        break;
      case "fail-store":
        this.#disk.failNext?.();
        break;
      case "fail-tool":
        this.#world.failsNext = true;
        break;
    }
  }

  #answer(step: Extract<Step, { do: "answer" }>, seen: readonly OpenConfirmation[]): void {
    const confirmation = seen.at(-1);
    if (confirmation === undefined) return;
    const { digest } = step.digestOf === "first" ? (seen[0] as OpenConfirmation) : confirmation;
    const { decision, by, session: sessionId } = step;
    const answer: PersonAnswer = {
      decision,
      by,
      digest,
      ...(sessionId !== undefined && { sessionId }),
      ...(step.arguments !== undefined && { arguments: step.arguments }),
    };
    this.#subject.answer(confirmation.id, answer).then(
      ({ outcome }) => this.#log.push(`${by} ${decision} → ${outcome}`),
      (error) => this.#log.push(`${by} ${decision} → ${String(error)}`),
    );
  }

  /** Denies what no actor answers. Returns whether there was anything. */
  #answerRest(): boolean {
    const open = this.#subject.open();
    for (const { id, digest } of open) {
      this.#subject.answer(id, { decision: "deny", by: "rest", digest }).catch(() => {});
    }
    return open.length > 0;
  }
}
