import helmet from '@fastify/helmet';
import type { ApiApp } from '../api-dependencies.ts';

/** For the pages under /docs, with their own scripts, and styles that swagger-ui writes into the page. */
export const DOCS_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For the dashboard, with its own files, and images in transcripts, which it creates from their bytes. */
export const DASHBOARD_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Nothing else that this server sends is a page: browsers must neither run it nor guess its type. */
export async function addSecurityHeaders(app: ApiApp): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], sandbox: [] },
    },
    referrerPolicy: { policy: 'no-referrer' },
  });
}
