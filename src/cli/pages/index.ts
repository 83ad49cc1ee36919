import { readFileSync } from "node:fs";
import { Argument, InvalidArgumentError, Option, type Command, type OptionValues } from "@commander-js/extra-typings";
import { PAGE_KINDS, PAGE_STATUSES, pageRates, type PageRates } from "../../domain/pages/page.ts";
import type { PageView } from "../../api/pages/pages.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { newest, showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { readId, readTime } from "../values.ts";

interface Settings {
  readonly environment?: string;
  readonly name?: string;
  readonly colour?: string;
  readonly welcome?: string;
  readonly origins?: readonly string[];
  /** Commander passes `true` if neither `--expires` nor `--no-expires` is used. */
  readonly expires?: string | boolean | undefined;
  readonly passwordFile?: string;
  readonly rate?: Partial<PageRates>;
  readonly visitorPauses?: readonly string[];
}

const PROJECT = ["<project>", "project name or ID"] as const;
const pathOf = (projectId: string): string => `/v2/projects/${projectId}/pages`;

/** `pages publish|list|change|revoke`: pages for people without an account. */
export function addPageCommands(program: Command): void {
  const pages = program.command("pages").description("publish a flow as a page for people without an account");
  const page = ["<page>", "page ID", readId("a page", "pages list <project>")] as const;

  withSettings(
    apiCommand(pages, "publish", "publish a page and print its URL")
      .argument(...PROJECT)
      .addArgument(new Argument("<kind>", "what the page is").choices(PAGE_KINDS)),
  ).action(async (project, kind, options) => {
    const { api } = openApi(options);
    const { project_id } = await requireProject(api, project);
    const made = await api.post<PageView>(pathOf(project_id), { kind, ...bodyOf(options) });
    show(options.json, made, () => [`${made.page_id}  ${made.kind}`, made.url]);
  });

  apiCommand(pages, "list", "list the pages of a project, newest first")
    .argument(...PROJECT)
    .addOption(new Option("--status <status>", "only pages with this status").choices(PAGE_STATUSES))
    .action(async (project, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, project);
      showTable(options.json, await newest<PageView>(api, pathOf(project_id), { status: options.status }), {
        PAGE: ({ page_id }) => page_id,
        KIND: ({ kind }) => kind,
        STATUS: ({ status }) => status,
        ENVIRONMENT: ({ environment }) => environment,
        PASSWORD: ({ has_password }) => (has_password ? "yes" : "no"),
        ENDS: ({ expires_at }) => expires_at ?? "never",
        URL: ({ url }) => url,
      });
    });

  withSettings(
    apiCommand(pages, "change", "change a page; what is not passed stays")
      .argument(...PROJECT)
      .argument(...page)
      .option("--no-password", "remove the password")
      .option("--no-expires", "remove the end date"),
  ).action(async (project, id, options) => {
    const { api } = openApi(options);
    const { project_id } = await requireProject(api, project);
    const body = {
      ...bodyOf(options),
      ...(options.password ? {} : { password: null }),
    };
    if (Object.keys(body).length === 0)
      throw new CommandFailure("Pass what to change, such as --welcome or --expires.", 2);
    const changed = await api.patch<PageView>(`${pathOf(project_id)}/${id}`, body);
    show(options.json, changed, () => [`changed ${changed.page_id}`, changed.url]);
  });

  apiCommand(pages, "revoke", "close a page permanently")
    .argument(...PROJECT)
    .argument(...page)
    .action(async (project, id, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, project);
      await api.delete(`${pathOf(project_id)}/${id}`);
      show(options.json, { revoked: id }, () => [`revoked ${id}; its URL stops working within 5 seconds`]);
    });
}

function withSettings<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option("--environment <name>", "environment whose version the page runs (default: production)")
    .option("--name <text>", "name that the page shows (default: the project's name)")
    .option("--colour <colour>", "colour of buttons and links, e.g. #1f6feb")
    .option("--welcome <text>", "text before the first question")
    .option("--origins <list>", "web origins that may show the page in a frame, separated by commas", readList)
    .option("--expires <time>", "time at which the page closes", readTime)
    .option("--password-file <path>", "file with the page's password; - reads standard input")
    .option("--rate <limits>", "runs and uploads per minute, e.g. page=60,visitor=10,network=30", readRates)
    .option("--visitor-pauses <paths>", "pauses that visitors may answer, e.g. approval-0", readList);
}

/** The request's body: only what was passed. */
function bodyOf(options: Settings): object {
  const { name, colour, welcome, environment, origins, expires, passwordFile, rate, visitorPauses } = options;
  const look = Object.fromEntries(Object.entries({ name, colour, welcome }).filter(([, text]) => text !== undefined));
  return {
    ...(environment !== undefined && { environment }),
    ...(Object.keys(look).length > 0 && { look }),
    ...(origins && { origins }),
    ...((typeof expires === "string" || expires === false) && { expires_at: expires || null }),
    ...(passwordFile !== undefined && { password: readPassword(passwordFile) }),
    ...(rate && { rate_limits: rate }),
    ...(visitorPauses && { visitor_pauses: visitorPauses }),
  };
}

/** From a file, because other users of the machine see the arguments of a command. */
function readPassword(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new CommandFailure(`Cannot read the password from ${path}: ${(error as Error).message}`, 2);
  }
}

function readList(text: string): readonly string[] {
  return text === "" ? [] : text.split(",").map((each) => each.trim());
}

function readRates(text: string): Partial<PageRates> {
  const pairs = readList(text).map((pair) => pair.split("="));
  const rates = Object.fromEntries(pairs.map(([name = "", value = ""]) => [name.trim(), Number(value)]));
  if (pairs.length > 0 && pageRates.safeParse(rates).success) return rates;
  throw new InvalidArgumentError("Pass limits such as page=60,visitor=10,network=30.");
}
