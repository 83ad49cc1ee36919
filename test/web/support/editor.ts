import type { Locator, Page } from "playwright-core";
import type { ApiTenant } from "../../api/tenant.ts";

/** A new project without a flow, or with this draft. */
export async function newFlow(tenant: ApiTenant, name: string, flow?: object): Promise<string> {
  const { body } = await tenant.secret.post("/v2/projects", { name });
  if (flow !== undefined) await tenant.secret.put(`/v2/projects/${body.project_id}/draft`, { flow });
  return body.project_id;
}

export const editorOf = (project: string, query = ""): string => `/flows/${project}/edit${query}`;

/** The draft as it is stored. */
export async function draftOf(tenant: ApiTenant, project: string) {
  const { body } = await tenant.secret.get(`/v2/projects/${project}/draft`);
  return body.flow;
}

/** The edges of a flow, as the tests write them: `if-0:else>out-0`. */
export const edgesIn = (flow: {
  readonly edges: ReadonlyArray<{ readonly source: string; readonly source_handle?: string; readonly target: string }>;
}): string[] =>
  flow.edges
    .map(
      ({ source, source_handle, target }) =>
        `${source}${source_handle === undefined ? "" : `:${source_handle}`}>${target}`,
    )
    .toSorted();

export const node = (page: Page, path: string): Locator => page.locator(`.react-flow__node[data-id="${path}"]`);
export const nodeIds = (page: Page): Promise<string[]> =>
  page
    .locator(".react-flow__node-step")
    .evaluateAll((all) => all.map((each) => each.getAttribute("data-id") ?? "").toSorted());

const source = (page: Page, path: string, handle: string): Locator =>
  node(page, path).locator(`.react-flow__handle.source[data-handleid="${handle}"]`);
const target = (page: Page, path: string): Locator => node(page, path).locator(".react-flow__handle.target");

async function drag(page: Page, from: Locator, to: { readonly x: number; readonly y: number }): Promise<void> {
  const box = await from.boundingBox();
  if (!box) throw new Error("nothing to drag");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x - 6, to.y - 6, { steps: 4 });
  await page.mouse.move(to.x, to.y, { steps: 2 });
  await page.mouse.up();
}

const middle = async (of: Locator): Promise<{ x: number; y: number }> => {
  const box = await of.boundingBox();
  if (!box) throw new Error("not drawn");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

/** Draws an edge from a handle to a node. */
export async function connect(page: Page, from: string, to: string, handle = "out"): Promise<void> {
  await drag(page, source(page, from, handle), await middle(target(page, to)));
}

/** Draws an edge from a handle to a place `down` pixels below, where there is nothing. */
export async function pull(page: Page, from: string, down: number, handle = "out"): Promise<void> {
  const { x, y } = await middle(source(page, from, handle));
  await drag(page, source(page, from, handle), { x, y: y + down });
}

export async function moveNode(
  page: Page,
  path: string,
  by: { readonly x: number; readonly y: number },
): Promise<void> {
  const head = node(page, path).locator(".step-title");
  const { x, y } = await middle(head);
  await drag(page, head, { x: x + by.x, y: y + by.y });
}

/** Chooses a node type in the open palette by a click. */
export async function choose(page: Page, title: string): Promise<void> {
  await page
    .getByRole("listbox", { name: "Node types" })
    .getByRole("option", { name: new RegExp(`^${title}`) })
    .first()
    .click();
}

/** Waits until everything is saved. */
export const saved = (page: Page): Promise<void> =>
  page.locator(".editor-saved").getByText("Saved", { exact: true }).waitFor();
