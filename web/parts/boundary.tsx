import { Component, type ReactNode } from "react";
import { Empty } from "./states.tsx";

interface Props {
  readonly children: ReactNode;
  /** The part of the page, as in `The ${this.props.what} could not be displayed`. */
  readonly what: string;
  /** The current route. When it changes, a failed part is rendered again; a working part is not remounted. */
  readonly place: string;
}

interface State {
  readonly error: unknown;
  readonly place: string;
}

/** Limits a failure to one part of the page. A chunk that cannot be found belongs to a version that was replaced after the page loaded. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined, place: this.props.place };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ place }: Props, state: State): State | null {
    return place === state.place ? null : { error: undefined, place };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const text = error instanceof Error ? error.message : "No error message.";
    const isOld = /dynamically imported module|Importing a module script/.test(text);
    return (
      <Empty
        title={isOld ? "A new version is available" : `The ${this.props.what} could not be displayed`}
        action={
          <button type="button" className="button button-primary" onClick={() => location.reload()}>
            Reload page
          </button>
        }
      >
        {isOld ? "The console has been updated since this tab was opened." : text}
      </Empty>
    );
  }
}
