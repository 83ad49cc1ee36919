import type { JSX } from "react";

export type Rated = "positive" | "negative";

/** Two buttons that rate an answer. */
export function Rating({
  rated,
  isPending,
  onRate,
}: {
  readonly rated: Rated | null;
  readonly isPending: boolean;
  readonly onRate: (rated: Rated) => void;
}): JSX.Element {
  return (
    <span className="chat-rating" role="group" aria-label="Feedback">
      {(["positive", "negative"] as const).map((each) => (
        <button
          key={each}
          type="button"
          className="button button-quiet button-small"
          aria-pressed={rated === each}
          disabled={isPending}
          onClick={() => onRate(each)}
        >
          {each === "positive" ? "Helpful" : "Not helpful"}
        </button>
      ))}
    </span>
  );
}
