import { ACCESS } from "../../http/access.ts";
import { badRequest, forbidden, notFound, overloaded, unauthenticated } from "../../http/refusals.ts";
import { isOwnOrigin } from "../../http/request.ts";
import { ConsoleLogin, ForgottenPush, NewPush, SERVER } from "../../shapes/server.ts";
import type { Console } from "../console/console.ts";
import { LOGIN_MS, setCookie } from "../console/logins.ts";
import { isPushSubscription } from "../notifying/notify.ts";
import type { PushDevices } from "../notifying/web-push.ts";
import type { SessionService } from "../service.ts";
import { type App, serve } from "./serve.ts";

/** Logs browsers in and out of the console, and has those of approvers notified. */
export function consoleRoutes(app: App, service: SessionService): void {
  serve(app, SERVER.logIn, async ({ env }) => {
    const { logins, wrongTokens } = consoleOf(service);
    const { headers, socket } = env.request;
    const { origin } = headers;
    if (origin === undefined || !isOwnOrigin(origin, headers.host))
      throw forbidden("only the page of the console can log in: the request must have its origin");
    const address = socket.remoteAddress ?? "";
    if (wrongTokens.isTooMany(address))
      throw overloaded("too many wrong tokens came from this address: retry in a minute");
    const { token } = await env.read(ConsoleLogin);
    const sender = logins.redeem(token) ?? env.door.authentication.senderOf(token);
    if (sender === undefined) {
      wrongTokens.add(address);
      throw unauthenticated("the token is wrong, or it was used already");
    }
    env.door.admit(ACCESS.logIn, sender);
    return cookieResponse(setCookie(logins.begin(sender, origin), LOGIN_MS, origin));
  });

  serve(app, SERVER.logOut, ({ env }) => {
    const { logins } = consoleOf(service);
    const login = logins.of(env.request);
    if (login === undefined) throw unauthenticated("the request has no login to end");
    logins.end(login);
    return cookieResponse(setCookie("", 0, login.origin));
  });

  serve(app, SERVER.getLogin, ({ env, json }) => {
    const { server } = consoleOf(service);
    const { principal, roles } = env.client;
    return json({ ...(principal && { principal: { id: principal.id } }), roles, server });
  });

  serve(app, SERVER.getPushKey, ({ json }) => json({ publicKey: devicesOf(service).publicKey }));

  serve(app, SERVER.subscribeBrowser, async ({ env }) => {
    const devices = devicesOf(service);
    const { endpoint, keys } = await env.read(NewPush);
    if (!isPushSubscription({ endpoint, keys }))
      throw badRequest("the body is not what PushManager.subscribe returns");
    if (!devices.accepts(endpoint))
      throw badRequest(
        "the endpoint is of none of the push services that this server uses: see notify.webPush.services",
      );
    await devices.add({ by: env.client.approver, endpoint, keys });
    return new Response(null, { status: 204 });
  });

  serve(app, SERVER.unsubscribeBrowser, async ({ env }) => {
    const devices = devicesOf(service);
    const { endpoint } = await env.read(ForgottenPush);
    await devices.remove(env.client.approver, endpoint);
    return new Response(null, { status: 204 });
  });
}

function cookieResponse(cookie: string): Response {
  return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
}

/** @throws {RequestRefusal} 404 if the server has no console. */
export function consoleOf({ console }: SessionService): Console {
  if (console === undefined) throw notFound();
  return console;
}

/** @throws {RequestRefusal} 404 if the server remembers no browsers. */
function devicesOf(service: SessionService): PushDevices {
  if (service.pushDevices === undefined) throw notFound();
  return service.pushDevices;
}
