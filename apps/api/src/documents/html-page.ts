import { createHash } from 'node:crypto';
import { toVisible } from '@recount/contract';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

interface HtmlPage {
  /** Lets the page load only its own style. */
  policy: string;
  /** The whole page; `content` is HTML. */
  format(title: string, content: string): string;
}

/** Text, with its invisible characters shown, for the content or a quoted attribute of an HTML element. */
export const toHtml = (text: string): string =>
  toVisible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

/** Self-contained HTML pages of one style, which run nothing and load nothing. */
export function createHtmlPage(style: string): HtmlPage {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return {
    policy,
    format: (title, content) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<title>${toHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`,
  };
}
