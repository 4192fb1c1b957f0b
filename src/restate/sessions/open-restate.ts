import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeThrown } from "../../base/thrown.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { SuspensionStore } from "../../programs/stores/suspension-store.ts";
import type { ConfirmationBroker } from "../../sessions/confirmations/confirmation-broker.ts";
import { SharedConfirmations } from "../../sessions/confirmations/shared-confirmations.ts";
import type {
  DurableHost,
  DurableMessage,
  DurableRuntime,
  MessagePlace,
} from "../../sessions/durable-runtime.ts";
import type { CountShared } from "../../sessions/quotas.ts";
import { SessionStoreError } from "../../sessions/session-errors.ts";
import type { MessageRecord, SessionRecord } from "../../sessions/store/store.ts";
import { Attempts, CancelWatch } from "../calls/attempts.ts";
import type { CallProcess } from "../calls/durable-call.ts";
import { Ingress, type IngressCall } from "../connection/ingress.ts";
import { RegistrationWatch, register } from "../connection/registration.ts";
import {
  loadSdk,
  openWorker,
  type RestateSdk,
  type RestateService,
  type RestateWorker,
} from "../connection/worker.ts";
import { canBeInKey, type ObjectAddress, type StorePlace, sessionObject } from "../objects/object-keys.ts";
import {
  PROGRAM_INDEX_OBJECT,
  PROGRAM_OBJECT,
  programHandlers,
  programIndexHandlers,
  TEMPLATE_OBJECT,
  templateHandlers,
} from "../objects/program-objects.ts";
import { defineObject, storeServices } from "../objects/services.ts";
import { RestateSessionStore } from "../store/session-store.ts";
import { RestateSuspensionStore } from "../store/suspension-store.ts";
import {
  expireConfirmation,
  OPEN_CONFIRMATIONS_OBJECT,
  OpenConfirmationList,
  openConfirmation,
  openConfirmationHandlers,
  unlistConfirmation,
} from "./open-confirmations.ts";
import { checkRestateOptions, type RestateOptions, type RestateSettings } from "./restate-options.ts";
import type { ToolPlaces } from "./session-run-handlers.ts";
import { messageKeyOf, sessionRunHandlers } from "./session-run-handlers.ts";

/** Runs sessions on Restate. */
export interface RestateRuntime extends DurableRuntime {
  /** Stores suspended programs, for `openSuspensions` of `sandgate/programs`. The runtime closes it. */
  readonly programs: SuspensionStore;
}

/**
 * Opens the runtime with which sessions outlive any process: give it to `openSessions` as `durable`. It serves calls to
 * Restate, and registers itself there; several processes with the same options share the sessions.
 *
 * @throws {TypeError} as a rejection, if an option is invalid, and {@link RestateError} if Restate cannot be reached or has
 *   other code registered under a name of ours.
 */
export async function openRestate(options: RestateOptions): Promise<RestateRuntime> {
  const settings = checkRestateOptions(options);
  const sdk = await loadSdk();
  const runtime = new SessionRuntime(sdk, settings);
  try {
    await runtime.open();
  } catch (error) {
    await runtime.close();
    throw error;
  }
  return runtime;
}

/** Milliseconds until is looked again whether a message that was accepted runs: at first, and at most. */
const FIRST_LOOK_MS = 4;
const LOOK_EVERY_MS = 250;

class SessionRuntime implements RestateRuntime {
  readonly store: RestateSessionStore;
  readonly programs: RestateSuspensionStore;
  readonly #sdk: RestateSdk;
  readonly #settings: RestateSettings;
  readonly #ingress: Ingress;
  readonly #place: StorePlace;
  readonly #attempts = new Attempts();
  readonly #cancelWatch: CancelWatch;
  readonly #host = Promise.withResolvers<DurableHost>();
  #started: DurableHost | undefined;
  #confirmations: SharedConfirmations | undefined;
  #worker: RestateWorker | undefined;
  #registration: RegistrationWatch | undefined;
  #lastPlace = 0;
  #isClosing = false;

  constructor(sdk: RestateSdk, settings: RestateSettings) {
    this.#sdk = sdk;
    this.#settings = settings;
    this.#ingress = new Ingress({ urls: settings.ingress });
    this.#place = { prefix: settings.prefix };
    const stored = { ingress: this.#ingress, prefix: settings.prefix };
    this.store = new RestateSessionStore(stored);
    this.programs = new RestateSuspensionStore(stored);
    this.#cancelWatch = new CancelWatch(this.#attempts, (sessionId, turnIds) =>
      this.#read(this.#session(sessionId), "cancelledTurns", turnIds),
    );
  }

  async open(): Promise<void> {
    const { host, port, reusePort, identityKeys, admin, advertise } = this.#settings;
    const services = this.#services();
    const worker = await openWorker({ services, host, port, reusePort, identityKeys });
    this.#worker = worker;
    const own = `http://${host.includes(":") ? `[${host}]` : host}:${worker.port}`;
    const registration = {
      admin,
      advertise: advertise ?? own,
      services: services.map(({ name }) => name),
    };
    const deployment = await register(registration);
    this.#registration = new RegistrationWatch(registration, deployment, warn);
    this.#registration.start();
  }

  get problem(): string | undefined {
    return this.#registration?.problem;
  }

  #services(): readonly RestateService[] {
    const sdk = this.#sdk;
    return [
      ...storeServices(
        sdk,
        sessionRunHandlers(sdk, () => this.#process),
      ),
      defineObject(sdk, OPEN_CONFIRMATIONS_OBJECT, openConfirmationHandlers(sdk)),
      ...programServices(sdk),
    ];
  }

  /** The time as Restate has it, in ms since the epoch. */
  readonly #now = (): number => Date.now() + this.#ingress.skewMs;

  get #process(): CallProcess {
    const ingress = this.#ingress;
    const place = {
      sdk: this.#sdk,
      store: this.#place,
      timeoutMs: this.#confirmations?.timeoutMs ?? 0,
      now: this.#now,
    };
    return {
      attempts: this.#attempts,
      confirmations: this.#confirmations as SharedConfirmations,
      get skewMs() {
        return ingress.skewMs;
      },
      // A call can arrive before the sessions are open.
      dispatch: async (call, gates) => {
        const host = await this.#host.promise;
        // Restate gives it to another process.
        if (this.#isClosing) throw new Error("the process is ending");
        return host.dispatch(call, this.#cancelWatch.gates(call, gates));
      },
      isSuspended: async (call) => (await this.#host.promise).isSuspended(call),
      openConfirmation: (ctx, question, options) => openConfirmation(place, ctx, question, options),
      expireConfirmation: (ctx, confirmation) => expireConfirmation(place, ctx, confirmation),
      unlistConfirmation: (ctx, confirmation) => unlistConfirmation(place, ctx, confirmation),
    };
  }

  readonly count: CountShared = (identity, tool, limits) => this.store.countWithin(identity, tool, limits);

  openConfirmations({ timeoutMs }: { readonly timeoutMs: number }): ConfirmationBroker {
    this.#confirmations = new SharedConfirmations({
      now: this.#now,
      store: this.store,
      list: new OpenConfirmationList(this.store.client, this.#place),
      timeoutMs,
      checkArguments: async (confirmation, edited) =>
        (await this.#host.promise).checkArguments(confirmation, edited),
    });
    return this.#confirmations;
  }

  async start(host: DurableHost): Promise<void> {
    this.#started = host;
    this.#host.resolve(host);
    this.#cancelWatch.start();
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    if (!canBeInKey(id)) return undefined;
    return this.#read(this.#session(id), "read");
  }

  async accept(message: DurableMessage): Promise<MessageRecord | "forgotten" | undefined> {
    if (this.problem !== undefined) throw new SessionStoreError(this.problem);
    this.#lastPlace = Math.max(this.#lastPlace + 1, Date.now() * 1_000);
    const input = { store: this.#place, message, place: this.#lastPlace, places: this.#placesOf(message) };
    return this.#call(this.#session(message.sessionId), "accept", input);
  }

  #placesOf({ calls }: DurableMessage): ToolPlaces {
    const places = new Map(calls.map(({ name }) => [name, this.#started?.placesOf(name)]));
    return Object.fromEntries(
      [...places].flatMap(([name, most]) => (most === undefined || most === Infinity ? [] : [[name, most]])),
    );
  }

  async results(message: MessagePlace): Promise<readonly (ToolExecution | null)[] | undefined> {
    const { sessionId, turnId, messageId } = message;
    const address = { ...this.#session(sessionId), handler: "message" };
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
      const ended = await this.#ingress.attach<readonly (ToolExecution | null)[]>(
        address,
        messageKeyOf(message),
      );
      if (ended !== undefined) return ended.result;
      await sleep(waitMs);
      if (waitMs === FIRST_LOOK_MS) continue;
      // It runs as soon as Restate has sent it, or has ended so long ago that Restate has forgotten it.
      const calls = await this.store.calls(sessionId, turnId, messageId);
      if (calls.every(({ state }) => state === "ended")) return undefined;
    }
  }

  async cancelTurn(sessionId: string, turnId: string): Promise<void> {
    this.#attempts.cancel(sessionId, [turnId]);
    await this.#call(this.#session(sessionId), "cancelTurn", { store: this.#place, turnId, at: Date.now() });
  }

  /** Calls that run may end; those that have not begun continue in another process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#cancelWatch.close();
    this.#registration?.close();
    await this.#attempts.drain(this.#settings.drainMs);
    this.#attempts.close();
    await this.#worker?.[Symbol.asyncDispose]();
    this.store.close();
    this.programs.close();
    await this.#ingress.close();
  }

  #session(id: string): ObjectAddress {
    return sessionObject(this.#place, id);
  }

  #read<Result>(object: ObjectAddress, handler: string, input?: unknown): Promise<Result> {
    return this.#send({ ...object, handler, input, idempotencyKey: undefined });
  }

  #call<Result>(object: ObjectAddress, handler: string, input?: unknown): Promise<Result> {
    return this.#send({ ...object, handler, input, idempotencyKey: randomUUID() });
  }

  /** @throws {SessionStoreError} as a rejection, whatever Restate says. */
  async #send<Result>(call: IngressCall): Promise<Result> {
    try {
      return await this.#ingress.call<Result>(call);
    } catch (cause) {
      throw new SessionStoreError(describeThrown(cause).message, { cause });
    }
  }
}

/** Warns operators with a warning of the process. */
function warn(problem: string | undefined): void {
  const message =
    problem === undefined
      ? "Restate has this code registered again, so that messages are accepted"
      : `No message is accepted: ${problem}`;
  process.emitWarning(message, { code: "SANDGATE_RESTATE_REGISTRATION" });
}

/** Returns the virtual objects of the store of suspended programs. */
export function programServices(sdk: RestateSdk): readonly RestateService[] {
  return [
    defineObject(sdk, PROGRAM_OBJECT, programHandlers(sdk)),
    defineObject(sdk, TEMPLATE_OBJECT, templateHandlers(sdk)),
    defineObject(sdk, PROGRAM_INDEX_OBJECT, programIndexHandlers(sdk)),
  ];
}
