import { setTimeout as sleep } from "node:timers/promises";
import { describeThrown } from "../../base/thrown.ts";
import { RestateError } from "./ingress.ts";

/** What a worker registers. */
export interface Registration {
  /** The URLs of the admin API of the nodes, such as `http://127.0.0.1:9070`. The first one that answers is used. */
  readonly admin: readonly string[];
  /** The URL at which Restate reaches the workers: of a load balancer, if there are several. */
  readonly advertise: string;
  /** The names of the services that the workers serve. */
  readonly services: readonly string[];
  /** Milliseconds for which nodes that cannot be reached are tried again. Default: 30 seconds. */
  readonly retryMs?: number;
}

const DEFAULT_RETRY_MS = 30_000;
const RETRY_EVERY_MS = 250;
const TIMEOUT_MS = 10_000;

/** What the admin API says of a deployment. */
interface Deployment {
  readonly id: string;
  readonly services: readonly { readonly name: string }[];
}

/** What the admin API says of all services. */
interface AllServices {
  readonly services: readonly { readonly name: string; readonly deployment_id: string }[];
}

/**
 * Registers workers. Registering the same URL again, as each server does that starts, changes nothing.
 *
 * @returns the id of their deployment.
 * @throws {RestateError} as a rejection, if no node answers, the registration is refused, or other code is registered under
 *   the name of one of the services: the calls would go there.
 */
export async function register({
  admin,
  advertise,
  services,
  retryMs = DEFAULT_RETRY_MS,
}: Registration): Promise<string> {
  const until = performance.now() + retryMs;
  const { id, services: known } = await retried(until, admin, (url) =>
    request<Deployment>(`${url}/deployments`, { uri: advertise, use_http_11: false }),
  );
  const names = known.map(({ name }) => name);
  const missing = services.filter((name) => !names.includes(name));
  if (missing.length > 0) {
    throw new RestateError(
      `Restate has other code registered at ${advertise}, without ${missing.join(", ")}: remove its deployment ${id}, or advertise another URL`,
    );
  }
  const left = Math.max(until - performance.now(), 0);
  const problem = await problemOf({ admin, advertise, services, retryMs: left }, id);
  if (problem !== undefined) throw new RestateError(problem);
  return id;
}

/**
 * Returns why Restate does not give all calls of some services to the workers; `undefined` if it does.
 *
 * @param deployment The id of their deployment. It may have another one by now: if it was removed, and registered again.
 * @throws {RestateError} as a rejection, if no node answers.
 */
export async function problemOf(
  { admin, advertise, services, retryMs = DEFAULT_RETRY_MS }: Registration,
  deployment: string,
): Promise<string | undefined> {
  const until = performance.now() + retryMs;
  const all = await retried(until, admin, (url) => request<AllServices>(`${url}/services`));
  const deployments = new Map(all.services.map((service) => [service.name, service.deployment_id]));
  const own = new Set([deployment]);
  for (const name of services) {
    const id = deployments.get(name);
    if (id === undefined)
      return `Restate has no code registered as '${name}' any longer: restart a server, which registers it`;
    if (own.has(id)) continue;
    const { uri } = await retried(until, admin, (url) =>
      request<{ readonly uri?: string }>(`${url}/deployments/${id}`),
    );
    if (uri !== new URL(advertise).href)
      return `Restate has other code registered as '${name}' (deployment ${id}), which would get the calls: remove that deployment`;
    own.add(id);
  }
  return undefined;
}

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

  /** @param onChange Called with each problem, and with `undefined` when it is solved. */
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

class PassingError extends Error {}

/** Tries the nodes in turn until one answers. */
async function retried<Result>(
  until: number,
  urls: readonly string[],
  ask: (url: string) => Promise<Result>,
): Promise<Result> {
  for (let index = 0; ; index++) {
    try {
      return await ask((urls[index % urls.length] as string).replace(/\/+$/, ""));
    } catch (error) {
      if (!(error instanceof PassingError)) throw error;
      if (performance.now() > until) throw new RestateError(`Restate cannot be reached: ${error.message}`);
      await sleep(RETRY_EVERY_MS);
    }
  }
}

async function request<Answer>(url: string, body?: unknown): Promise<Answer> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    text = await response.text();
  } catch (thrown) {
    throw new PassingError(describeThrown(thrown).message);
  }
  if (response.ok) return JSON.parse(text) as Answer;
  const problem = `${response.status} ${text.slice(0, 500)}`;
  // Without a leader, or while it changes, the admin API answers with 5xx.
  if (response.status >= 500) throw new PassingError(problem);
  throw new RestateError(`Restate refused ${url}: ${problem}`);
}
