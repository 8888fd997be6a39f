/** A secret in a text, from `start` up to, but not including, `end`. */
export interface SecretMatch {
  /** `github`, `privatekey`, …: the rule's name. */
  rule: string;
  start: number;
  end: number;
  /** It is a further piece of the secret before it, like a line of a key file. */
  continues?: boolean;
}

/**
 * Finds secrets that the library's rules do not, such as tokens of more programs, and forms that they are too strict
 * for.
 */
export interface OwnRule {
  /** Appears in the mark and in `secret_counts`. */
  name: string;
  /** Only texts that contain one of these are searched, which saves time. By default every text is searched. */
  hints?: readonly string[];
  /**
   * With the flag `g`, and in time linear in any text. No repetition is without a bound. If it has a group `secret`,
   * only that is the secret.
   */
  pattern: RegExp;
  /** A match is no secret if this matches it, or its group `password`, such as a placeholder. */
  except?: RegExp;
  /** Made up. In parts, so that secret scanners do not report this repository. */
  example: readonly string[];
}

/** Not within a word; escapes of URLs may come before, also of URLs in URLs. */
const START = '(?:(?<![A-Za-z0-9])|(?<=%(?:25){0,4}[0-9A-Fa-f]{2}))';
const END = '(?![A-Za-z0-9])';
const token = (pattern: string): RegExp => new RegExp(START + pattern + END, 'g');

/** Passwords that stand for one, and variables of shells and templates. */
const PLACEHOLDER =
  /^(?:x+|\*+|\.+|pw|pwd|pass(?:w(?:or)?d)?|secret|token|changeme|your.{0,40}|my-?pass.{0,10}|\$\w+|[{[(<].*|.*(?:\$[{(]|\{\{|%s|%\().*)$/i;

const repeat = (characters: string, length: number): string => characters.repeat(length).slice(0, length);
const HEX = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const WORD = 'Zq7Hx2Lm9Tb4Rk8Vw3Nd6Yp1Cs5Gj0Fa';

export const OWN_RULES: readonly OwnRule[] = [
  // Claude Code's OAuth tokens (`oat`, refreshed with `ort`), and keys of every kind, also shorter than the API's.
  {
    name: 'anthropic',
    hints: ['sk-ant-'],
    pattern: token(String.raw`sk-ant-[a-z]{2,12}\d{0,2}-[A-Za-z0-9_-]{24,512}`),
    example: ['sk-ant-', 'oat01-', repeat(WORD, 95)],
  },
  {
    name: 'recount',
    hints: ['rk_'],
    pattern: token('rk_[A-Za-z0-9_-]{43}(?!-)'),
    example: ['rk_', repeat(WORD, 43)],
  },
  // A signed-in browser, with its cookie, and the secret of its page.
  {
    name: 'recount-sign-in',
    hints: ['rks_'],
    pattern: token('rks_[A-Za-z0-9_-]{43}(?!-)'),
    example: ['rks_', repeat(WORD, 43)],
  },
  {
    name: 'recount-sign-in',
    hints: ['/signed-in/'],
    pattern: /\/signed-in\/(?<secret>[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/g,
    example: ['http://127.0.0.1:8377/signed-in/', repeat(WORD, 43), '/v1/whoami'],
  },
  {
    name: 'recount-link',
    hints: ['/sign-in#'],
    pattern: /\/sign-in#(?<secret>[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/g,
    example: ['http://127.0.0.1:8377/sign-in#', repeat(WORD, 43)],
  },
  {
    name: 'recount-link',
    hints: ['/sign-in?demo=1#'],
    pattern: /\/sign-in\?demo=1#(?<secret>[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/g,
    example: ['http://127.0.0.1:8377/sign-in?demo=1#', repeat(WORD, 43)],
  },
  {
    name: 'recount-link',
    hints: ['/shared/'],
    pattern: /\/shared\/[0-9A-Z]{26}-[0-9A-Z]{26}-(?<secret>[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/g,
    example: ['https://recount.example/shared/', repeat('01JA', 26), '-', repeat('01JB', 26), '-', repeat(WORD, 43)],
  },
  {
    name: 'recount-device',
    hints: ['device_code'],
    pattern: /device_code["'`]?\s{0,4}[:=]\s{0,4}["'`]?(?<secret>[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/g,
    example: ['device_code=', repeat(WORD, 43)],
  },
  // URLs of any scheme. The library knows four, and of the web only passwords of letters and digits.
  {
    name: 'url-password',
    // User and password are the same in the common default `guest:guest`.
    pattern:
      /:\/\/(?!\[REDACTED|(?<same>[^\s:@/]{1,256}):\k<same>@)(?<secret>[^\s"'`<>/\\@:,;()|]{0,256}:(?<password>[^\s"'`<>/\\()|]{3,256}))@(?=[A-Za-z0-9_[])/g,
    except: PLACEHOLDER,
    example: ['redis://default:', 'h4rd-2.guess!', '@cache.internal:6379/0'],
  },
  {
    name: 'url-password',
    pattern: /[?&](?:password|passwd|pwd)=(?<secret>[^\s"'`<>&#;,(){}$\\]{3,256})/gi,
    except: PLACEHOLDER,
    example: ['jdbc:postgresql://db.internal/app?user=ada&password=', 'h4rd-2.guess'],
  },
  // The id. The library finds the secret that belongs to it.
  {
    name: 'aws',
    hints: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    pattern: token('(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}'),
    except: /EXAMPLE|X{8}|0{8}/,
    example: ['AKIA', 'Q7XW2LM5TB4RKDVN'],
  },
  {
    name: 'aws',
    hints: ['aws_session_token', 'AWS_SESSION_TOKEN'],
    pattern:
      /aws_session_token["'`]?\s{0,4}(?:=>|[:=])\s{0,4}["'`]?(?<secret>[A-Za-z0-9+/=]{100,4096})(?![A-Za-z0-9+/=])/gi,
    example: ['AWS_SESSION_TOKEN=', repeat(WORD, 240)],
  },
  {
    name: 'pypi',
    hints: ['pypi-'],
    pattern: token('pypi-Ag[A-Za-z0-9_-]{48,512}'),
    example: ['pypi-', 'AgEIcHlwaS5vcmc', repeat(WORD, 150)],
  },
  {
    name: 'rubygems',
    hints: ['rubygems_'],
    pattern: token('rubygems_[0-9a-f]{48}'),
    example: ['rubygems_', repeat(HEX, 48)],
  },
  {
    name: 'digitalocean',
    hints: ['_v1_'],
    pattern: token('do[opr]_v1_[0-9a-f]{64}'),
    example: ['dop_v1_', repeat(HEX, 64)],
  },
  {
    name: 'google',
    hints: ['ya29.'],
    pattern: token(String.raw`ya29\.[A-Za-z0-9._-]{20,2048}`),
    example: ['ya29.', 'a0', repeat(WORD, 160)],
  },
  {
    name: 'google',
    hints: ['GOCSPX-'],
    pattern: token('GOCSPX-[A-Za-z0-9_-]{28}'),
    example: ['GOCSPX-', repeat(WORD, 28)],
  },
  { name: 'google', hints: ['1//0'], pattern: token('1//0[A-Za-z0-9_-]{40,256}'), example: ['1//0', repeat(WORD, 60)] },
  {
    name: 'google',
    hints: ['AIza'],
    pattern: token('AIza[A-Za-z0-9_-]{35}(?!-)'),
    example: ['AIza', 'Sy', repeat(WORD, 33)],
  },
  {
    name: 'telegram',
    hints: [':AA'],
    pattern: token('[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}(?!-)'),
    example: ['1234567890', ':AA', repeat(WORD, 33)],
  },
  { name: 'twilio', pattern: token('(?:SK|AC)[0-9a-f]{32}'), example: ['SK', repeat(HEX, 32)] },
  {
    name: 'twilio',
    hints: ['twilio_auth_token', 'TWILIO_AUTH_TOKEN'],
    pattern: /twilio_auth_token["'`]?\s{0,4}(?:=>|[:=])\s{0,4}["'`]?(?<secret>[0-9a-f]{32})(?![0-9A-Za-z])/gi,
    example: ['TWILIO_AUTH_TOKEN=', repeat(HEX, 32)],
  },
  { name: 'notion', hints: ['ntn_'], pattern: token('ntn_[A-Za-z0-9]{36,64}'), example: ['ntn_', repeat(WORD, 46)] },
  {
    name: 'notion',
    hints: ['secret_'],
    pattern: token('secret_[A-Za-z0-9]{43}'),
    example: ['secret_', repeat(WORD, 43)],
  },
  // Cut ones too, which the library decodes.
  {
    name: '1password',
    hints: ['ops_eyJ'],
    pattern: token('ops_eyJ[A-Za-z0-9+/=_-]{60,4096}'),
    example: ['ops_', 'eyJ', repeat(WORD, 400)],
  },
  {
    name: '1password',
    hints: ['A3-'],
    pattern: token('A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}'),
    example: ['A3-', 'Q7XW2L-M5TB4R-KDVN8-2QWE7-RTY3U-8PASD'],
  },
  {
    name: 'discord',
    pattern: token(String.raw`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}`),
    example: ['MTE2', repeat('MzQ1Nj', 22), '.Gh7x', '2L.', repeat(WORD, 38)],
  },
  {
    name: 'discord',
    hints: ['/api/webhooks/'],
    pattern: /discord(?:app)?\.com\/api\/webhooks\/[0-9]{15,22}\/(?<secret>[A-Za-z0-9_-]{60,80})(?![A-Za-z0-9_-])/g,
    example: ['https://discord.com/api/webhooks/123456789012345678/', repeat(WORD, 68)],
  },
  {
    name: 'postman',
    hints: ['PMAK-'],
    pattern: token('PMAK-[0-9a-f]{24}-[0-9a-f]{34}'),
    example: ['PMAK-', repeat(HEX, 24), '-', repeat(HEX, 34)],
  },
  {
    name: 'openrouter',
    hints: ['sk-or-'],
    pattern: token('sk-or-v1-[0-9a-f]{64}'),
    example: ['sk-or-', 'v1-', repeat(HEX, 64)],
  },
  { name: 'xai', hints: ['xai-'], pattern: token('xai-[A-Za-z0-9]{80}'), example: ['xai-', repeat(WORD, 80)] },
  {
    name: 'perplexity',
    hints: ['pplx-'],
    pattern: token('pplx-[A-Za-z0-9]{48,64}'),
    example: ['pplx-', repeat(WORD, 48)],
  },
  { name: 'replicate', hints: ['r8_'], pattern: token('r8_[A-Za-z0-9]{37}'), example: ['r8_', repeat(WORD, 37)] },
  {
    name: 'sentry',
    hints: ['sntrys_', 'sntryu_'],
    pattern: token('sntry(?:s_eyJ[A-Za-z0-9+/=_-]{40,1024}|u_[0-9a-f]{64})'),
    example: ['sntryu_', repeat(HEX, 64)],
  },
  {
    name: 'supabase',
    hints: ['sbp_', 'sb_secret_'],
    pattern: token('sb(?:p_[0-9a-f]{40}|_secret_[A-Za-z0-9_-]{31,64})'),
    example: ['sbp_', repeat(HEX, 40)],
  },
  {
    name: 'atlassian',
    hints: ['ATATT3'],
    pattern: token('ATATT3[A-Za-z0-9_=-]{100,512}'),
    example: ['ATATT3', repeat(WORD, 180)],
  },
  {
    name: 'age',
    hints: ['AGE-SECRET-KEY-1'],
    pattern: token('AGE-SECRET-KEY-1[A-Z0-9]{58}'),
    example: ['AGE-SECRET-KEY-1', repeat('QPZRY9X8', 58)],
  },
  {
    name: 'gitlab',
    hints: ['gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glimt-', 'glagent-', 'gloas-', 'glsoat-', 'glft-', 'glffct-'],
    pattern: token('gl(?:dt|rt|ptt|cbt|imt|agent|oas|soat|ft|ffct)-[A-Za-z0-9_-]{20,128}'),
    example: ['gldt-', repeat(WORD, 20)],
  },
  // Those in cookies (`xoxd`) are base64 with escapes of URLs.
  {
    name: 'slack',
    hints: ['xox'],
    pattern: token('xox(?:[a-ce-z]-[A-Za-z0-9-]{20,400}|d-[A-Za-z0-9%+/=-]{20,500})'),
    example: ['xoxe', '-1-', repeat(WORD, 146)],
  },
  // The library knows shorter ones, and leaves the secret at the end of these.
  {
    name: 'slack',
    hints: ['xapp-'],
    pattern: token('xapp-[A-Za-z0-9-]{20,400}'),
    example: ['xapp', '-1-', 'A0Q7XW2L9TB-1234567890123-', repeat(HEX, 64)],
  },
];

const ALL_HINTS = [...new Set(OWN_RULES.flatMap(({ hints = [] }) => hints))];
const HINTS = new RegExp(ALL_HINTS.map((hint) => hint.replaceAll(/\W/g, String.raw`\$&`)).join('|'), 'g');

/** The hints that a text contains. One search for all takes a quarter of the time of one for each. */
function findHints(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  HINTS.lastIndex = 0;
  for (let hint = HINTS.exec(text); hint !== null; hint = HINTS.exec(text)) {
    found.add(hint[0]);
    // The next one may overlap it.
    HINTS.lastIndex = hint.index + 1;
  }
  return found;
}

/** The secrets that recount's own rules find, in no order; they may overlap. */
export function findOwnSecrets(text: string): SecretMatch[] {
  const matches: SecretMatch[] = [];
  const found = findHints(text);
  for (const { name, hints, pattern, except } of OWN_RULES) {
    if (hints?.some((hint) => found.has(hint)) === false) continue;
    for (const match of text.matchAll(pattern)) {
      const secret = match.groups?.secret ?? match[0];
      if (except?.test(match.groups?.password ?? secret)) continue;
      const start = match.index + match[0].indexOf(secret);
      matches.push({ rule: name, start, end: start + secret.length });
    }
  }
  return matches;
}
