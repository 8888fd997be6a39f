import { send } from '../../server-data/client.ts';

/** Holds the flow of a sign-in while the browser is at the provider. Only this tab has it. */
const FLOW_KEY = 'recount-sign-in-flow';

/** Opens the provider's page. Throws ApiError. */
export async function openProvider(id: string, next: string | undefined): Promise<void> {
  const parameters = { provider_id: id };
  const { url, flow } = await send('post', '/v1/sign-in/providers/{provider_id}', {
    parameters,
    body: next === undefined ? {} : { next },
  });
  sessionStorage.setItem(FLOW_KEY, flow);
  location.assign(url);
}

/** True if the provider returned to this page with an answer. */
export const isProviderAnswer = (search: string): boolean => {
  const parameters = new URLSearchParams(search);
  return parameters.has('state') && (parameters.has('code') || parameters.has('error'));
};

/** Finishes the sign-in with the path and query that the provider opened. It works once. Throws ApiError. */
export async function finishSignIn(response: string): Promise<{ page: string; next: string }> {
  const flow = sessionStorage.getItem(FLOW_KEY);
  sessionStorage.removeItem(FLOW_KEY);
  if (flow === null) throw new Error('The sign-in was not started in this browser, or was finished already');
  return await send('post', '/v1/sign-in/response', { body: { flow, response } });
}
