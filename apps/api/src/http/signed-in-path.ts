import type { IncomingMessage } from 'node:http';
import { SIGNED_IN_PATH } from '@recount/contract';

const SIGNED_IN_URL = new RegExp(`^${SIGNED_IN_PATH}([A-Za-z0-9_-]{43})(/v1/.*)$`, 's');

/** The URL of a request without `/signed-in/<page>`, which only says who asks. */
export const toRoutedUrl = ({ url = '/' }: Pick<IncomingMessage, 'url'>): string => SIGNED_IN_URL.exec(url)?.[2] ?? url;

/** The page's secret in the path of a request. */
export const readPageSecret = (url: string): string | undefined => SIGNED_IN_URL.exec(url)?.[1];

/** The only path that gets the cookie of a sign-in. */
export const toCookiePath = (page: string): string => SIGNED_IN_PATH + page;
