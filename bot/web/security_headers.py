"""Headers of every response of the dashboard: Content-Security-Policy and the like."""

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # without a referrer, browsers send no Origin with our own forms either
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
