import { createRoot } from "react-dom/client";
import { PageApi } from "./api.ts";
import { App } from "./app.tsx";
import { handleOf } from "./handle.ts";
import { linkToEmbed } from "./in-frame.ts";
import { Page } from "./page.ts";
import "../theme/tokens.css";
import "../theme/base.css";
import "./published.css";

const token = location.pathname.split("/")[2] ?? "";
const handle = handleOf(token, () => localStorage);
const root = document.getElementById("root");
if (!root) throw new Error("The document has no element for the page.");
createRoot(root).render(<App page={new Page(new PageApi(token, handle))} isKept={() => handle.isKept} />);
linkToEmbed();
