import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type ThemedToken } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

/** Each one is loaded when it is first needed. */
const LANGUAGES: Readonly<Record<string, () => Promise<unknown>>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  jsx: () => import('shiki/langs/jsx.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
};

const ALIASES: Readonly<Record<string, string>> = {
  cjs: 'javascript',
  cs: 'csharp',
  console: 'bash',
  h: 'c',
  hpp: 'cpp',
  js: 'javascript',
  jsonc: 'json',
  kt: 'kotlin',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  patch: 'diff',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
};

/** A known language, by its name or a file's extension; undefined for others. */
export function toLanguage(name: string | undefined): string | undefined {
  const wanted =
    name
      ?.trim()
      .toLowerCase()
      .split(/[\s,:{]/, 1)[0] ?? '';
  const language = ALIASES[wanted] ?? wanted;
  return Object.hasOwn(LANGUAGES, language) ? language : undefined;
}

let highlighter: Promise<HighlighterCore> | undefined;

/** Code as lines of coloured tokens; colours are CSS variables. */
export async function highlight(text: string, language: string): Promise<ThemedToken[][]> {
  highlighter ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: 'css', variablePrefix: '--code-', fontStyle: true })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const { loadLanguage, codeToTokensBase } = await highlighter;
  await loadLanguage((await LANGUAGES[language]?.()) as never);
  return codeToTokensBase(text, {
    lang: language as never,
    theme: 'css',
    tokenizeMaxLineLength: 2000,
    tokenizeTimeLimit: 200,
  });
}
