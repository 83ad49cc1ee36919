import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { ioOptions, projectOptions } from "../../api/projects.ts";
import {
  publishedPagesOptions,
  revokePage,
  usePublishedPageAction,
  type PublishedPage,
} from "../../api/published-pages.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Missing } from "../missing-flow.tsx";
import { PageDialog } from "./page-dialog.tsx";
import { ShareDialog } from "./share-dialog.tsx";
import "./published.css";

/** The pages on which people without an account use a flow. */
export function PagesPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const project = useQuery(projectOptions(projectId));
  const published = project.data?.published_version ?? null;
  const list = useQuery(publishedPagesOptions(projectId));
  const io = useQuery({ ...ioOptions(projectId, { version: -1 }), enabled: published !== null });
  const mayPublish = useMay("admin", projectId);
  const revoke = usePublishedPageAction(revokePage);
  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;

  /** Opens a dialog, which has an address of its own. */
  const show = (dialog: string, value = "page"): void => setSearch({ [dialog]: value });
  const close = (): void => setSearch({});
  const pages = list.data?.data ?? [];
  const pageIn = (name: string): PublishedPage | undefined => pages.find(({ page_id }) => page_id === search.get(name));
  const [shared, changed, revoked] = [pageIn("share"), pageIn("edit"), pageIn("revoke")];
  const create = mayPublish && published !== null && (
    <button type="button" className="button button-primary" onClick={() => show("create")}>
      <Icon name="plus" /> Publish a page…
    </button>
  );
  return (
    <>
      <PageHead
        title={`${project.data.name} · Pages`}
        about="Forms and chats at URLs of their own, for people without an account."
      >
        {create}
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      <List
        query={list}
        items="pages"
        caption="Pages"
        placeholder={3}
        keyOf={({ page_id }) => page_id}
        empty={{
          title: "No pages yet",
          text:
            published === null
              ? "A page runs the published version. Publish a version first."
              : mayPublish
                ? "Publish a form or a chat of this flow; it appears here and can be revoked at any time."
                : "An admin of this flow can publish a form or a chat; it appears here.",
          action: create || undefined,
        }}
        columns={[
          {
            id: "name",
            head: "Page",
            cell: (page) => (
              <span className="stack-line">
                <button type="button" className="link wrap" data-row onClick={() => show("share", page.page_id)}>
                  {page.look.name}
                </button>
                <span className="small muted">
                  {page.kind === "chat" ? "Chat" : "Form"} · {page.environment}
                </span>
              </span>
            ),
          },
          { id: "status", head: "Status", cell: ({ status }) => <Status state={status} /> },
          {
            id: "access",
            head: "Access",
            wideOnly: true,
            cell: (page) => (
              <span className="small wrap">
                {page.has_password ? "With password" : "Anyone with the URL"}
                {page.origins.length > 0 && (
                  <span className="muted">
                    {" · "}
                    {page.origins.length === 1 ? page.origins[0] : `${page.origins.length} origins`}
                  </span>
                )}
              </span>
            ),
          },
          {
            id: "ends",
            head: "Closes",
            wideOnly: true,
            cell: ({ expires_at, revoked_at }) =>
              revoked_at !== null ? (
                <Time at={revoked_at} />
              ) : expires_at === null ? (
                "Never"
              ) : (
                <Time at={expires_at} isPlanned={Date.parse(expires_at) > Date.now()} />
              ),
          },
          { id: "created", head: "Created", widestOnly: true, cell: ({ created_at }) => <Time at={created_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (page) =>
              page.status === "revoked" ? null : (
                <span className="row">
                  {page.url !== "" && <CopyButton text={page.url} label={`URL of ${page.look.name}`} />}
                  {mayPublish && (
                    <>
                      <button
                        type="button"
                        className="button button-small"
                        onClick={() => show("edit", page.page_id)}
                        aria-label={`Edit ${page.look.name}`}
                      >
                        Edit…
                      </button>
                      <button
                        type="button"
                        className="button button-small button-danger"
                        onClick={() => show("revoke", page.page_id)}
                        aria-label={`Revoke ${page.look.name}`}
                      >
                        Revoke…
                      </button>
                    </>
                  )}
                </span>
              ),
          },
        ]}
      />
      {search.get("create") !== null && create !== false && (
        <PageDialog
          project={project.data}
          io={io.data}
          page={null}
          onClose={close}
          onSaved={({ page_id }) => show("share", page_id)}
        />
      )}
      {changed && mayPublish && (
        <PageDialog project={project.data} io={io.data} page={changed} onClose={close} onSaved={close} />
      )}
      {shared && <ShareDialog page={shared} onClose={close} />}
      {revoked && mayPublish && (
        <Confirm
          title={`Revoke “${revoked.look.name}”?`}
          action="Revoke page"
          dismiss="Keep page"
          fault={revoke.error && toProblem(revoke.error)}
          isPending={revoke.isPending}
          onConfirm={() => revoke.mutate({ project_id: projectId, page_id: revoked.page_id }, { onSuccess: close })}
          onClose={close}
        >
          The page closes within five seconds, also for people who have it open, and its URL never works again. Runs and
          conversations of its visitors stay.
        </Confirm>
      )}
    </>
  );
}
