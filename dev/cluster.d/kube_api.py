"""The API server of Kubernetes, asked over HTTPS with a token (https://kubernetes.io/docs/reference/using-api/)."""

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 10


class Api:
    """For one thread.

    `folder` has the server's certificate (cert.pem) and the token of whoever asks (token).
    """

    def __init__(self, url, folder):
        self.url = url
        self.token = (Path(folder) / "token").read_text(encoding="ascii")
        context = ssl.create_default_context(cafile=str(Path(folder) / "cert.pem"))
        # No proxy of the person's stands before an address of the machine itself.
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def ask(self, path, method="GET", body=None, kind="application/json"):
        """What the server answers; OSError where it is silent, HTTPError, which is one too, where it refuses."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with self.opener.open(request, timeout=SECONDS) as answer:
            return json.load(answer)

    def change(self, path, method, body, kind="application/json", but=()):
        """Like ask; None where the server refuses with one of these codes."""
        try:
            return self.ask(path, method, body, kind)
        except urllib.error.HTTPError as e:
            if e.code in but:
                return None
            raise

    def pods(self, fields="", labels=""):
        return self.ask(f"/api/v1/pods?fieldSelector={fields}&labelSelector={labels}")["items"]


def path(pod):
    """Of a pod on the server."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
