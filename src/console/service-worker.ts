/** Shows push messages, even while no page is open. It is a separate script. */

/** What a message has: see `pushText` of the server. */
interface Message {
  readonly title: string;
  readonly body: string;
  readonly link?: string;
}

/** The events of a service worker, which the types of pages do not have. */
interface WorkerEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
}
interface PushEvent extends WorkerEvent {
  readonly data: { json(): Message } | null;
}
interface ClickEvent extends WorkerEvent {
  readonly notification: Notification;
}
interface Worker {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    matchAll(options: { readonly type: "window" }): Promise<readonly Page[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: "push", listener: (event: PushEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: ClickEvent) => void): void;
}
interface Page {
  readonly url: string;
  focus(): Promise<Page>;
}

const worker = globalThis as unknown as Worker;

worker.addEventListener("push", (event) => {
  const {
    title,
    body,
    link = "",
  } = event.data?.json() ?? { title: "Something waits for an answer", body: "" };
  event.waitUntil(worker.registration.showNotification(title, { body, data: placeOf(link), tag: link }));
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data)));
});

/** The place on the page of this origin, wherever a link leads. */
function placeOf(link: string): string {
  return `/console/${URL.parse(link)?.hash || "#/waiting"}`;
}

/** Shows a place in an open page, or else in a new one. A page in which a person works stays where it is. */
async function show(place: string): Promise<void> {
  const url = new URL(place, location.origin).href;
  const pages = await worker.clients.matchAll({ type: "window" });
  const page = pages.find((one) => one.url === url);
  await (page === undefined ? worker.clients.openWindow(url) : page.focus());
}
