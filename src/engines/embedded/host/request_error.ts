/** What a refused request may carry beside its message. */
export interface RequestErrorDetail {
  /** The field that was wrong. */
  readonly param?: string;
  /** Machine-readable reason, OpenAI's where it has one. */
  readonly code?: string;
  /** Kind of error; made from the status when absent. */
  readonly type?: string;
  /** Further fields of the error object, as llama-server has them. */
  readonly extra?: Readonly<Record<string, number>>;
}

/** A request that is answered with an error, in the words its caller reads. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: number;
  readonly detail: RequestErrorDetail;

  constructor(
    status: number,
    message: string,
    detail: RequestErrorDetail = {},
  ) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 404) return "not_found_error";
  if (status === 501) return "not_supported_error";
  if (status === 503) return "unavailable_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

/**
 * The error as OpenAI's clients read it.
 *
 * @param error What was refused.
 * @returns The body of the answer, or of an event of a stream.
 */
export function errorBody(
  error: RequestError,
): { readonly error: Readonly<Record<string, string | number | null>> } {
  return {
    error: {
      message: error.message,
      type: error.detail.type ?? typeOf(error.status),
      code: error.detail.code ?? null,
      param: error.detail.param ?? null,
      ...error.detail.extra,
    },
  };
}

/**
 * The error for a field that is not what it should be.
 *
 * @param param The field.
 * @param message What is wrong and what is accepted.
 */
export function invalidField(param: string, message: string): RequestError {
  return new RequestError(400, message, { param });
}
