import type { Json, JsonObject } from "../../json.ts";
import { ADDS, asText, below, CHANGES, inputsOf, queryOf, READS, type Action, type ActionRequest } from "../action.ts";
import type { Credential } from "../connection.ts";
import { bearer, webAddress } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

const text = { type: "string", minLength: 1 } as const;
/** A segment "." or ".." would change the URL's path. */
const REPOSITORY_NAME = "^\\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*$";
const repository = {
  owner: { ...text, pattern: REPOSITORY_NAME },
  repo: { ...text, pattern: REPOSITORY_NAME },
} as const;
const issue = { ...repository, number: { type: "integer", minimum: 1 } } as const;
const texts = { type: "array", items: text, maxItems: 100 } as const;
const object = { type: "object" } as const;

const HEADERS = { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" };

/** Makes the request of an action below the repository that its inputs name. */
function inRepository(method: string, path: (inputs: JsonObject) => string): NonNullable<Action["request"]> {
  return ({ owner, repo, number, ...members }: JsonObject, { base_url }: Credential): ActionRequest => {
    const part = (value: Json | undefined): string => encodeURIComponent(asText(value));
    const url = below(base_url, `repos/${part(owner)}/${part(repo)}${path({ number: part(number), ...members })}`);
    const rest = method === "GET" ? { query: queryOf(members) } : { body: { json: members } };
    return { method, url, headers: HEADERS, ...rest };
  };
}

const page = {
  per_page: { type: "integer", minimum: 1, maximum: 100 },
  page: { type: "integer", minimum: 1 },
} as const;
const people = { labels: texts, assignees: texts } as const;

export const github = defineProvider({
  provider_id: "github",
  name: "GitHub",
  description: "GitHub repositories, issues and pull requests",
  provider_group: ["development"],
  tags: ["git", "issues", "code"],
  auth: {
    required: true,
    schemes: {
      bearer: bearer({
        base_url: webAddress("URL of the REST API; for GitHub Enterprise Server https://HOST/api/v3", {
          default: "https://api.github.com",
        }),
      }),
    },
  },
  actions: {
    get_repository: {
      name: "Get a repository",
      description: "Gets a repository",
      annotations: READS,
      input_schema: inputsOf(repository),
      output_schema: object,
      request: inRepository("GET", () => ""),
    },
    list_issues: {
      name: "List issues",
      description: "Lists the issues and pull requests of a repository, newest first",
      annotations: READS,
      input_schema: inputsOf(repository, {
        state: { enum: ["open", "closed", "all"] },
        labels: { type: "string", description: "Label names, separated by commas" },
        ...page,
      }),
      output_schema: { type: "array", items: object },
      request: inRepository("GET", () => "/issues"),
    },
    get_issue: {
      name: "Get an issue",
      description: "Reads an issue or a pull request",
      annotations: READS,
      input_schema: inputsOf(issue),
      output_schema: object,
      request: inRepository("GET", ({ number }) => `/issues/${asText(number)}`),
    },
    create_issue: {
      name: "Create an issue",
      description: "Opens an issue",
      annotations: ADDS,
      input_schema: inputsOf({ ...repository, title: text }, { body: { type: "string" }, ...people }),
      output_schema: object,
      request: inRepository("POST", () => "/issues"),
    },
    update_issue: {
      name: "Update an issue",
      description: "Changes, closes or reopens an issue",
      annotations: CHANGES,
      input_schema: inputsOf(issue, {
        title: text,
        body: { type: "string" },
        state: { enum: ["open", "closed"] },
        ...people,
      }),
      output_schema: object,
      request: inRepository("PATCH", ({ number }) => `/issues/${asText(number)}`),
    },
    add_comment: {
      name: "Add a comment",
      description: "Comments on an issue or a pull request",
      annotations: ADDS,
      input_schema: inputsOf({ ...issue, body: text }),
      output_schema: object,
      request: inRepository("POST", ({ number }) => `/issues/${asText(number)}/comments`),
    },
    search_issues: {
      name: "Search issues",
      description: "Finds issues and pull requests with GitHub's search syntax",
      annotations: READS,
      input_schema: inputsOf({ q: text }, page),
      output_schema: object,
      request: (inputs, { base_url }) => ({
        method: "GET",
        url: below(base_url, "search/issues"),
        headers: HEADERS,
        query: queryOf(inputs),
      }),
    },
    get_file: {
      name: "Get a file",
      description: "Reads a file of a repository as text",
      annotations: READS,
      input_schema: inputsOf(
        { ...repository, path: text },
        { ref: { type: "string", description: "Branch, tag or commit" } },
      ),
      output_schema: { type: "object", properties: { text: { type: "string" } } },
      request({ path, ...others }, credential) {
        const address = asText(path).split("/").map(encodeURIComponent).join("/");
        const request = inRepository("GET", () => `/contents/${address}`)(others, credential);
        return { ...request, headers: { ...HEADERS, accept: "application/vnd.github.raw+json" } };
      },
      outputs: ({ body }) => ({ text: typeof body === "string" ? body : JSON.stringify(body) }),
    },
  },
  check: { method: "GET", path: "/user", headers: { accept: "application/vnd.github+json" } },
});
