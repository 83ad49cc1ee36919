import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { projectDraftOptions, projectOptions, versionOptions, versionsOptions } from "../../api/projects.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Missing } from "../missing-flow.tsx";
import { DeleteDialog, RenameDialog } from "./project-dialogs.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { PublishForm } from "../publish-form.tsx";
import { UsedBy } from "./used-by.tsx";
import { VersionList } from "./version-list.tsx";
import { VersionPicture } from "./version-picture.tsx";
import "./flows.css";

type Open = "rename" | "delete" | "publish" | null;

/** A flow: its versions, what it is used by, and its draft. */
export function FlowPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const project = useQuery(projectOptions(projectId));
  const versions = useQuery(versionsOptions(projectId));
  const { data: draft } = useQuery(projectDraftOptions(projectId));
  const published = project.data?.published_version ?? null;
  const shown = useQuery({ ...versionOptions(projectId, -1), enabled: published !== null });
  const mayEdit = useMay("editor", projectId);
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);

  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;
  const { name, description, latest_version } = project.data;
  return (
    <>
      <PageHead
        title={`${name} · Versions`}
        about={description === "" ? "Every deployed version; the published one answers calls." : description}
      >
        <Link className="button" to={links.flowEnvironments(projectId)}>
          <Icon name="background" /> Environments
        </Link>
        <Link className="button" to={links.flowChat(projectId)}>
          <Icon name="chat" /> Chat
        </Link>
        <Link className="button" to={links.flowPages(projectId)}>
          <Icon name="open" /> Pages
        </Link>
        <Link className="button" to={links.flowCall(projectId)}>
          <Icon name="code" /> Call it
        </Link>
        <Link className={mayEdit ? "button button-primary" : "button"} to={links.flowEdit(projectId)}>
          <Icon name="pencil" /> {mayEdit ? "Edit" : "Open editor"}
        </Link>
        {mayEdit && (
          <Menu name="More" large closes>
            <button type="button" className="button button-quiet" onClick={() => setOpen("rename")}>
              Rename…
            </button>
            <button type="button" className="button button-quiet" onClick={() => setOpen("delete")}>
              Delete…
            </button>
          </Menu>
        )}
      </PageHead>
      {draft && (
        <Notice tone="warn">
          <Icon name="pencil" />
          <span className="wrap">
            The draft has changes by {draft.changed_by_name ?? "a deleted user or key"}, <Time at={draft.changed_at} />.
            {!draft.valid && " It has problems that must be solved before it can be published."}
          </span>
          <span className="row">
            {latest_version > 0 && (
              <Link className="button button-small" to={links.flowCompare(projectId, "published", "draft")}>
                Show changes
              </Link>
            )}
            {mayEdit && draft.valid && (
              <button type="button" className="button button-small" onClick={() => setOpen("publish")}>
                Publish…
              </button>
            )}
          </span>
        </Notice>
      )}
      <div className="flow-columns">
        <div className="stack">
          {versions.isPending && <Loading what="versions" />}
          {versions.error && <Failure fault={toProblem(versions.error)} retry={() => void versions.refetch()} />}
          {versions.data?.data.length === 0 && (
            <Empty
              title="No versions yet"
              action={
                mayEdit && (
                  <button
                    type="button"
                    className="button button-primary"
                    disabled={draft?.valid !== true}
                    onClick={() => setOpen("publish")}
                  >
                    Publish
                  </button>
                )
              }
            >
              Publish the draft to create version 1.
            </Empty>
          )}
          {versions.data && versions.data.data.length > 0 && (
            <VersionList
              projectId={projectId}
              versions={versions.data.data}
              published={published}
              hasDraft={draft != null}
            />
          )}
        </div>
        <aside className="stack" aria-label="About this flow">
          {published !== null && (
            <section className="panel stack-tight" aria-labelledby="published">
              <div className="spread">
                <h2 id="published">Published</h2>
                <Link to={links.flowVersion(projectId, published)}>Version {published}</Link>
              </div>
              {shown.data && <VersionPicture flow={shown.data.flow} label={`Picture of version ${published}`} />}
            </section>
          )}
          <UsedBy project={project.data} />
        </aside>
      </div>
      {open === "rename" && <RenameDialog project={project.data} onClose={close} />}
      {open === "delete" && <DeleteDialog project={project.data} onClose={close} />}
      {open === "publish" && draft && (
        <Dialog title={`Publish the draft as version ${latest_version + 1}`} onClose={close}>
          <PublishForm projectId={projectId} etag={draft.etag} onPublished={close} />
        </Dialog>
      )}
    </>
  );
}
