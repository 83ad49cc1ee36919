import type { JSX } from "react";
import { useNavigate } from "react-router";

/** Chooses what the chat talks to; another choice begins a new conversation. */
export function TargetSelect({
  published,
  hasDraft,
  chosen,
  to,
}: {
  readonly published: number | null;
  readonly hasDraft: boolean;
  readonly chosen: string | null;
  readonly to: (chosen: string | null) => string;
}): JSX.Element | null {
  const navigate = useNavigate();
  const others = [...(hasDraft || chosen === "draft" ? ["draft"] : []), "staging", "development"];
  const listed = chosen !== null && !others.includes(chosen) ? [...others, chosen] : others;
  return (
    <select
      className="input input-short"
      aria-label="Version"
      value={chosen ?? ""}
      onChange={({ target }) => void navigate(to(target.value === "" ? null : target.value))}
    >
      <option value="">{published === null ? "Published (none)" : `Published (version ${published})`}</option>
      {listed.map((each) => (
        <option key={each} value={each}>
          {each[0]?.toUpperCase()}
          {each.slice(1)}
        </option>
      ))}
    </select>
  );
}
