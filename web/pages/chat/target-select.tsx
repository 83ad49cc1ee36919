import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useNavigate } from "react-router";
import { environmentsOptions } from "../../api/environments.ts";

const PUBLISHED = "production";

/** Chooses what the chat talks to; another choice starts a new conversation. */
export function TargetSelect({
  projectId,
  published,
  hasDraft,
  chosen,
  to,
}: {
  readonly projectId: string;
  readonly published: number | null;
  readonly hasDraft: boolean;
  /** An environment, or "draft"; null for the published version. */
  readonly chosen: string | null;
  readonly to: (chosen: string | null) => string;
}): JSX.Element {
  const navigate = useNavigate();
  const { data } = useQuery(environmentsOptions(projectId));
  const environments = (data?.data ?? []).filter(({ name }) => name !== PUBLISHED);
  const isListed = chosen === null || chosen === "draft" || environments.some(({ name }) => name === chosen);
  return (
    <select
      className="input input-short"
      aria-label="Version"
      value={chosen ?? ""}
      onChange={({ target }) => void navigate(to(target.value === "" ? null : target.value))}
    >
      <option value="">{published === null ? "Published (none)" : `Published (version ${published})`}</option>
      {environments.map(({ name, version }) => (
        <option key={name} value={name} disabled={version === null}>
          {name} {version === null ? "(no version)" : `(version ${version})`}
        </option>
      ))}
      {!isListed && <option>{chosen}</option>}
      {(hasDraft || chosen === "draft") && <option value="draft">Draft</option>}
    </select>
  );
}
