/** Messages to the embed script around this page (embed.ts). They say nothing that other sites may not know. */
export type FrameMessage = { readonly millrace: "ready" | "close" };

/** Tells the site around this page that it has loaded, and closes the frame on Escape. */
export function linkToEmbed(): void {
  if (parent === window) return;
  document.documentElement.classList.add("is-embedded");
  // The origin around the page is one that the policy allows, but which one a page cannot know.
  const tell = (millrace: FrameMessage["millrace"]): void => parent.postMessage({ millrace }, "*");
  tell("ready");
  addEventListener("keydown", (event) => {
    // A dialog closes itself on Escape; then the page stays.
    if (event.key === "Escape" && !event.defaultPrevented && document.querySelector("dialog[open]") === null)
      tell("close");
  });
}
