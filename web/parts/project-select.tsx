import type { JSX, ReactNode } from "react";

/** Chooses a project. `children` are options before the projects. */
export function ProjectSelect({
  projects,
  value,
  onChange,
  children,
}: {
  readonly projects: ReadonlyArray<{ readonly project_id: string; readonly name: string }>;
  readonly value: string;
  readonly onChange: (projectId: string) => void;
  readonly children?: ReactNode;
}): JSX.Element {
  return (
    <select
      className="input input-short"
      aria-label="Project"
      data-search
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {children}
      {projects.map(({ project_id, name }) => (
        <option key={project_id} value={project_id}>
          {name}
        </option>
      ))}
    </select>
  );
}
