import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { describeThrown } from "../../base/thrown.ts";
import { isPushSubscription, type Notify, type PushSubscription } from "./notify.ts";
import { publicKeyOf } from "./web-push.ts";

/** A browser in which an approver subscribed. */
export interface PushDevice extends PushSubscription {
  /** The id of the approver. */
  readonly by: string;
}

/** The push services of browsers. Without such a list, approvers could have the server send requests anywhere. */
const SERVICES: readonly string[] = [
  "https://fcm.googleapis.com",
  "https://updates.push.services.mozilla.com",
  "https://web.push.apple.com",
  "https://*.notify.windows.com",
];
/** The most browsers of an approver. The one that subscribed first makes room. */
const MAX_OF_ONE = 10;

/** The browsers in which approvers subscribed on the page of the server. They are in a file that only its owner reads. */
export class PushDevices {
  readonly #file: string;
  readonly #services: readonly string[];
  /** That of VAPID, with which browsers subscribe: in base64url. */
  readonly publicKey: string;
  #devices: readonly PushDevice[];
  #written: Promise<void> = Promise.resolve();

  private constructor(
    file: string,
    { key, services = SERVICES }: Pick<NonNullable<Notify["webPush"]>, "key" | "services">,
  ) {
    this.#file = file;
    this.#services = services;
    this.publicKey = publicKeyOf(key).toString("base64url");
    this.#devices = readDevices(file);
  }

  /**
   * @returns `undefined` unless the options say where the browsers are written.
   * @throws {TypeError} if the file cannot be read.
   */
  static open({ webPush }: Notify = {}): PushDevices | undefined {
    return webPush?.devices === undefined ? undefined : new PushDevices(webPush.devices, webPush);
  }

  get all(): readonly PushDevice[] {
    return this.#devices;
  }

  /** Whether an address is that of a push service. */
  accepts(endpoint: string): boolean {
    const url = URL.parse(endpoint);
    if (url === null || url.username !== "" || url.password !== "") return false;
    return this.#services.some((service) => {
      const [scheme, parent] = service.split("*");
      if (parent === undefined) return url.origin === service;
      return url.origin.startsWith(String(scheme)) && url.origin.endsWith(parent);
    });
  }

  /** Remembers a browser, in the name of who subscribed last in it. Rejects if the file cannot be written. */
  add(device: PushDevice): Promise<void> {
    const others = this.#devices.filter(({ endpoint }) => endpoint !== device.endpoint);
    const own = others.filter(({ by }) => by === device.by);
    const excess = new Set(own.slice(0, Math.max(0, own.length + 1 - MAX_OF_ONE)));
    return this.#replace([...others.filter((other) => !excess.has(other)), device]);
  }

  /** Forgets a browser of an approver. Rejects if the file cannot be written. */
  remove(by: string, endpoint: string): Promise<void> {
    return this.#replace(this.#devices.filter((other) => other.endpoint !== endpoint || other.by !== by));
  }

  /** Forgets browsers that a push service does not know any more. Never rejects. */
  async forget(gone: readonly PushSubscription[]): Promise<void> {
    const endpoints = new Set(gone.map(({ endpoint }) => endpoint));
    await this.#replace(this.#devices.filter(({ endpoint }) => !endpoints.has(endpoint))).catch(() => {});
  }

  /** Writes the file as a whole, after what is being written. */
  #replace(devices: readonly PushDevice[]): Promise<void> {
    this.#devices = devices;
    const written = this.#written.then(() => writeDevices(this.#file, this.#devices));
    this.#written = written.catch(() => {});
    return written;
  }
}

function readDevices(file: string): readonly PushDevice[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (Array.isArray(value) && value.every(isDevice)) return value;
    throw new TypeError("it has something else than subscriptions");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    const { message } = describeThrown(error);
    throw new TypeError(`the file of notify.webPush.devices cannot be read: ${message}`, { cause: error });
  }
}

function isDevice(value: Partial<PushDevice> | null): boolean {
  return typeof value?.by === "string" && isPushSubscription(value);
}

async function writeDevices(file: string, devices: readonly PushDevice[]): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    {
      await using handle = await open(temporary, "wx", 0o600);
      await handle.writeFile(`${JSON.stringify(devices, null, 2)}\n`);
      await handle.sync();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
