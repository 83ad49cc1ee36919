import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { versionsOptions } from "../../api/projects.ts";

/** Chooses a version of a flow. `first` are options before the versions. */
export function VersionSelect({
  projectId,
  label,
  value,
  onChange,
  first,
}: {
  readonly projectId: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly first?: ReactNode;
}): JSX.Element {
  const { data } = useQuery(versionsOptions(projectId));
  return (
    <select
      className="input input-short"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {first}
      {(data?.data ?? []).map(({ version, published }) => (
        <option key={version} value={version}>
          Version {version}
          {published && " (published)"}
        </option>
      ))}
    </select>
  );
}
