import { render } from "preact";
import { loadSession, logIn } from "./api/session.ts";
import { App } from "./app/app.tsx";
import { takeToken } from "./page/token.ts";

const root = document.getElementById("console");
if (root === null) throw new Error("the page has no element for the console");

const token = takeToken();
if (token === undefined) await loadSession();
else await logIn(token);
render(<App />, root);
