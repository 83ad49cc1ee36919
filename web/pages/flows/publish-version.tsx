import type { JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { publishVersion, useProjectAction } from "../../api/projects.ts";
import { Confirm } from "../../parts/confirm.tsx";

/** Makes a version the published one, after a question. */
export function PublishVersion({
  projectId: project_id,
  version,
  published,
  onClose,
}: {
  readonly projectId: string;
  readonly version: number;
  readonly published: number | null;
  readonly onClose: () => void;
}): JSX.Element {
  const publish = useProjectAction(publishVersion);
  const isBack = published !== null && version < published;
  return (
    <Confirm
      title={isBack ? `Roll back to version ${version}` : `Publish version ${version}`}
      action={isBack ? "Roll back" : "Publish"}
      fault={publish.error && toProblem(publish.error)}
      isPending={publish.isPending}
      onClose={onClose}
      onConfirm={() => publish.mutate({ project_id, version }, { onSuccess: onClose })}
    >
      New runs use version {version} within a second
      {published === null ? "." : ` in place of version ${published}.`} Runs in progress keep their version, and you can
      publish another version at any time.
    </Confirm>
  );
}
