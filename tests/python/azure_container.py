"""Makes a container in Microsoft's emulator of its store: azure_container.py URL. Nothing else may be asked for without a
signature; account and key are the emulator's well-known ones."""
import base64
import email.utils
import hashlib
import hmac
import sys
import urllib.request

ACCOUNT = "devstoreaccount1"
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")

url = sys.argv[1]
container = url.rsplit("/", 1)[1]
headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
text = "PUT" + 12 * "\n" + named + f"/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"
signature = base64.b64encode(hmac.new(KEY, text.encode(), hashlib.sha256).digest()).decode()
headers["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
urllib.request.urlopen(urllib.request.Request(url + "?restype=container", headers=headers, method="PUT"))
